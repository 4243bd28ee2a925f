/**
 * English: usage, balances, and the settings of client programs.
 */
import { plural } from "./Plural.ts"

export const usageTexts = {
  usage: {
    intro: "The settled requests of your customers. Days are in WIB (UTC+7).",
    from: "From",
    to: "To",
    model: "Model",
    allModels: "All models",
    customer: "Customer",
    allCustomers: "All customers",
    perDay: "Tokens per day",
    lastDays: (days: number) => `Usage of the last ${days} days`,
    items: "Requests",
    none: "No usage on these days",
    noneText: "Choose other days or filters.",
    asTable: "As a table",
    day: "Day",
    requests: "Requests",
    tokens: "Tokens",
    cost: "Cost",
    tokensOf: (count: string) => plural(count, "token", "tokens")
  },
  balance: {
    title: "Plans and balance",
    noPlans: "No token plan yet",
    askReseller: "Buy a plan from your reseller.",
    ofTokens: (purchased: string) => `of ${plural(purchased, "token", "tokens")} left`,
    remaining: (model: string) => `Remaining tokens for ${model}, in percent`,
    status: { active: "Active", exhausted: "Used up" },
    payg: "Pay-as-you-go balance",
    asOf: (time: string) => `As of ${time}`
  },
  clients: {
    title: "Settings for programs",
    intro: "Copy the settings of your program. They contain your key.",
    program: "Program",
    model: "Model",
    names: {
      curl: "curl",
      openai: "OpenAI SDK",
      anthropic: "Anthropic SDK",
      claudeCode: "Claude Code",
      codex: "Codex",
      opencode: "opencode"
    },
    inShell: "Run in your terminal:",
    inFile: (file: string) => `Put into ${file}:`,
    secret: "Do not give your key to others: a program with the key spends your balance.",
    firstRequest: "The usage appears here after your first request."
  }
}
