/**
 * Meters one inference request. Another service that bills streams by the rules of this gateway needs only this file.
 *
 *     startMeter ─▶ meterEvent, once per event that the client received ─▶ chargeOf ─▶ decideSettlement
 *
 * If a stream is cut after k deltas, the charge is the prompt and the output in these k deltas. If a stream is cut
 * before the first delta, the charge is zero. If a stream is complete, the charge is the usage that the provider
 * reported, even if this usage is zero. If the stream has content, a local token count replaces each count that the
 * provider did not report.
 *
 *     let meter = startMeter("chat")
 *     for await (const event of stream) { await write(event); meter = meterEvent(meter, event) }
 *     const charge = chargeOf(meter, ending, { requestBody, countTokens })
 *     const { settlement } = decideSettlement(hold, charge, price, balances)
 *
 * All functions are pure: the caller reads the stream, counts tokens, and stores holds and balances in a transaction.
 */
import { chargeFor, type Ending, type Outcome } from "./inference/Charge.ts"
import * as Chat from "./inference/ChatDelivered.ts"
import * as ChatPrompt from "./inference/ChatPrompt.ts"
import { asArray, asObject, asText, type JsonObject } from "./inference/Json.ts"
import * as Messages from "./inference/MessagesDelivered.ts"
import * as MessagesPrompt from "./inference/MessagesPrompt.ts"
import type { PromptText } from "./inference/PromptText.ts"
import * as ReportedUsage from "./inference/ReportedUsage.ts"
import * as Responses from "./inference/ResponsesDelivered.ts"
import * as ResponsesPrompt from "./inference/ResponsesPrompt.ts"
import { cost, type Price } from "./ledger/Price.ts"
import type { Charge } from "./ledger/Settlement.ts"
import * as Tokens from "./money/Tokens.ts"
import type { UsdPico } from "./money/UsdPico.ts"

export type { Ending } from "./inference/Charge.ts"
export { estimate, type RequestSize } from "./inference/Estimate.ts"
export { AccountId, type PaygAccount, type PlanAccount } from "./ledger/Account.ts"
export { type Balances, decideHold, type Estimate, type Hold, InsufficientBalance } from "./ledger/Hold.ts"
export { cost, PicoPerToken, type Price } from "./ledger/Price.ts"
export { type Charge, decideSettlement, type Settlement } from "./ledger/Settlement.ts"
export type { TokenUsage } from "./ledger/TokenUsage.ts"
export { toExactUsdMicro, UsdPico } from "./money/UsdPico.ts"

export type MeteredProtocol = "chat" | "messages" | "responses"

/** The state of a meter: the content that the client received and the usage that the provider reported. */
export interface Meter {
  readonly protocol: MeteredProtocol
  /** The delivered content by choice index. The messages and responses protocols have only choice 0. */
  readonly contents: ReadonlyMap<number, string>
  /** The number of delivered events with content. */
  readonly deltas: number
  readonly reported: ReportedUsage.ReportedUsage
  /** The value of `deltas` when the provider last reported the output tokens. */
  readonly deltasAtLastOutputReport: number
  /** The token counts of a messages stream, merged from several events. */
  readonly messageCounts: Messages.TokenCounts
}

export const startMeter = (protocol: MeteredProtocol): Meter => ({
  protocol,
  contents: new Map(),
  deltas: 0,
  reported: ReportedUsage.unreported,
  deltasAtLastOutputReport: 0,
  messageCounts: Messages.noCounts
})

/**
 * Adds an event that the client received to the meter. `data` is the parsed `data` of one stream event, or the parsed
 * body of a response that was not streamed. Ignores `[DONE]` and other values that are not objects.
 */
export const meterEvent = (meter: Meter, data: unknown): Meter => {
  const event = asObject(data)
  if (event === undefined) return meter
  const contents = contentsOf(meter, event)
  const delivered =
    contents.length === 0 ? meter : { ...meter, contents: append(meter.contents, contents), deltas: meter.deltas + 1 }
  return withReport(delivered, event)
}

/** Adds only the usage report of an event that did not reach the client. The content of this event is not metered. */
export const meterUndelivered = (meter: Meter, data: unknown): Meter => {
  const event = asObject(data)
  return event === undefined ? meter : withReport(meter, event)
}

/** The input of a local token count, which is made only if the provider's report is not sufficient for the charge. */
export interface LocalCount {
  /** The parsed request body, from which the prompt is counted. */
  readonly requestBody: unknown
  /** Returns the number of tokens in a text, by a tokenizer that the caller chooses. */
  readonly countTokens: (text: string) => number
}

/** Returns the charge of a request with this ending. */
export const chargeOf = (meter: Meter, ending: Ending, { requestBody, countTokens }: LocalCount): Charge => {
  const { contents, deltas, deltasAtLastOutputReport, protocol, reported } = meter
  const count = (text: string) => Tokens.fromCount(countTokens(text))
  const outcome: Outcome = { ending, reported, deltas, deltasAtLastOutputReport }
  return chargeFor(outcome, {
    prompt: () => {
      const { text, extraTokens } = promptTexts[protocol](requestBody)
      return Tokens.add(count(text), Tokens.fromCount(extraTokens))
    },
    deliveredOutput: () => Tokens.sum([...contents.values()].map(count))
  })
}

/**
 * Returns the exact cost of a charge. The settlement splits this cost between the plan and the pay-as-you-go balance.
 */
export const costOf = (charge: Charge, price: Price): UsdPico => cost(price, charge.charged)

const promptTexts: Record<MeteredProtocol, (body: unknown) => PromptText> = {
  chat: ChatPrompt.promptText,
  messages: MessagesPrompt.promptText,
  responses: ResponsesPrompt.promptText
}

interface ChoiceContent {
  readonly choice: number
  readonly text: string
}

/** Returns the content that an event delivers, by choice. Skips choices without content. */
const contentsOf = (meter: Meter, event: JsonObject): ReadonlyArray<ChoiceContent> => {
  const contents = meter.protocol === "chat" ? chatContents(event) : [{ choice: 0, text: contentOf(meter, event) }]
  return contents.filter(({ text }) => text !== "")
}

const chatContents = (event: JsonObject): ReadonlyArray<ChoiceContent> =>
  asArray(event.choices).map((item, position) => {
    const choice = asObject(item)
    const delta = asObject(choice?.delta) ?? asObject(choice?.message) ?? {}
    return { choice: typeof choice?.index === "number" ? choice.index : position, text: Chat.deltaContent(delta) }
  })

const contentOf = ({ protocol, deltas }: Meter, event: JsonObject): string => {
  if (protocol === "messages") {
    return event.type === "message" ? Messages.contentOfMessage(event) : Messages.contentOfEvent(event)
  }
  if (event.object === "response") return Responses.contentOfResponse(event)
  const completed = FINAL_EVENTS.has(asText(event.type)) ? asObject(event.response) : undefined
  if (completed === undefined) return Responses.contentOfEvent(event)
  // The last event repeats the whole content. Its content therefore counts only if no delta was delivered before.
  return deltas === 0 ? Responses.contentOfResponse(completed) : ""
}

const FINAL_EVENTS: ReadonlySet<string> = new Set(["response.completed", "response.incomplete"])

const append = (
  contents: ReadonlyMap<number, string>,
  added: ReadonlyArray<ChoiceContent>
): ReadonlyMap<number, string> => {
  const next = new Map(contents)
  for (const { choice, text } of added) next.set(choice, (next.get(choice) ?? "") + text)
  return next
}

const withReport = (meter: Meter, event: JsonObject): Meter => {
  const messageCounts = meter.protocol === "messages" ? countsAfter(meter.messageCounts, event) : meter.messageCounts
  const usage = usageOf(meter, messageCounts, event)
  const reported = ReportedUsage.merge(meter.reported, usage)
  const reportsOutput = usage.output !== undefined && usage.output === reported.output
  return {
    ...meter,
    messageCounts,
    reported,
    deltasAtLastOutputReport: reportsOutput ? meter.deltas : meter.deltasAtLastOutputReport
  }
}

const countsAfter = (messageCounts: Messages.TokenCounts, event: JsonObject): Messages.TokenCounts =>
  event.type === "message"
    ? Messages.mergeCounts(messageCounts, event.usage)
    : Messages.countsAfterEvent(messageCounts, event)

const usageOf = (meter: Meter, messageCounts: Messages.TokenCounts, event: JsonObject): ReportedUsage.ReportedUsage => {
  switch (meter.protocol) {
    case "chat":
      return Chat.usageOf(event.usage)
    case "messages":
      return messageCounts === meter.messageCounts ? ReportedUsage.unreported : Messages.reportedBy(messageCounts)
    case "responses":
      return event.object === "response" ? Responses.usageOf(event.usage) : Responses.usageOfEvent(event)
  }
}
