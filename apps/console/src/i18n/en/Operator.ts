/**
 * English: the pages of an operator.
 */
export const operatorTexts = {
  operator: {
    entry: "Console of the operator",
    entering: "Opening the session",
    entryText:
      "Run this command on the server, and open the link that it prints. The link works once, for two minutes.",
    command: "the command",
    intro: "The decisions that wait for you. For all other tasks, use the command line.",
    nothing: "Nothing waits.",
    resellers: "Resellers that wait for a review",
    moves: {
      approve: {
        confirm: "Approve",
        question: (name: string) => `Approve “${name}”?`,
        text: "The reseller can log in and buy quota at once."
      },
      reject: {
        confirm: "Reject",
        question: (name: string) => `Reject “${name}”?`,
        text: "The reseller cannot log in. You can approve it later."
      }
    },
    topUps: "Top-ups with an anomaly",
    images: "Image requests that were not charged",
    waive: "Waive",
    waiveQuestion: "Waive the charge of this image?",
    waiveText: (email: string) => `${email} pays nothing for the image. This cannot be undone.`
  }
}
