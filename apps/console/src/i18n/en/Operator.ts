/**
 * English: the page that opens the session of an operator.
 */
export const operatorTexts = {
  operator: {
    entry: "Console of the operator",
    entering: "Opening the session",
    entryText:
      "Run this command on the server, and open the link that it prints. " +
      "You can open the link only once, within two minutes.",
    command: "the command"
  }
}
