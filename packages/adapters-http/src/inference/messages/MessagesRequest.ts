/**
 * Reads a request for a message or for a token count, and builds the headers for a provider. Only the
 * JSON members that routing, metering and billing need are read. The body is sent to the provider byte for byte, except
 * for the value of `model`.
 */
import type { InferenceRequest } from "@tollgate/application/inference/RelayConnection"
import { hostedToolOf } from "@tollgate/domain/inference/HostedTools"
import { InvalidRequest } from "@tollgate/domain/inference/InferenceErrors"
import { promptText } from "@tollgate/domain/inference/MessagesPrompt"
import * as Either from "effect/Either"
import { MemberValues, sizeOfMembers } from "../../wire/BodyMembers.ts"
import { hostedToolsIn } from "../../wire/HostedToolMembers.ts"
import { type ScannedBody, slicedScanner } from "../../wire/JsonScan.ts"
import { promptIn } from "../../wire/PromptMembers.ts"
import { MAX_PROMPT_VALUES } from "../../wire/ScanPlan.ts"
import type { Slices } from "../../wire/Slices.ts"
import { jsonHeaders } from "../relay/UpstreamRequestParts.ts"

export interface MessagesRequest extends InferenceRequest {
  readonly body: Buffer
  readonly members: MessagesMembers
}

type MessagesMembers = ScannedBody<keyof typeof members>

const members = {
  model: {},
  messages: { each: "role" },
  max_tokens: {},
  stream: {},
  system: {},
  tools: { nameOfType: (type: string) => hostedToolOf("messages", type) },
  mcp_servers: {},
  output_config: {},
  output_format: {},
  fallbacks: {}
}

const scan = slicedScanner({
  members,
  maxValues: MAX_PROMPT_VALUES,
  media: { members: ["data"], types: ["image", "document"], unsizedTypes: ["container_upload", "document"] }
})

export const readMessagesRequest = (body: Buffer): Slices<Either.Either<MessagesRequest, InvalidRequest>> =>
  read(body, (values, { max_tokens }) => values.count(max_tokens, "max_tokens"))

/** Reads a request for a token count. Unlike a request for a message, it has no `max_tokens`. */
export const readCountRequest = (body: Buffer): Slices<Either.Either<MessagesRequest, InvalidRequest>> =>
  read(body, () => undefined)

function* read(
  body: Buffer,
  maxTokensOf: (values: MemberValues, members: MessagesMembers) => number | undefined
): Slices<Either.Either<MessagesRequest, InvalidRequest>> {
  return Either.flatMap(yield* scan(body), (members) => {
    const values = new MemberValues(body)
    const model = values.name(members.model, "model")
    values.filledArray(members.messages, "messages")
    const maxOutputTokens = maxTokensOf(values, members)
    const streamed = values.flag(members.stream, "stream")
    const fault = values.fault ?? otherModel(members)
    if (fault !== undefined) return Either.left(fault)
    const { messages, system, tools, output_config, output_format } = members
    return Either.right({
      model,
      streamed,
      size: { ...sizeOf(members), maxOutputTokens, choices: 1 },
      hostedTools: hostedToolsIn(tools, { mcp_servers: [members.mcp_servers, "mcp"] }),
      promptText: () => promptIn(body, { messages, system, tools, output_config, output_format }, promptText),
      body,
      members
    })
  })
}

/**
 * Refuses a request that selects a second model, as a fallback or as an advisor. The provider would run the second
 * model and charge the gateway for it, but the customer would be charged the price of the first model.
 */
const otherModel = ({ fallbacks, tools }: MessagesMembers): InvalidRequest | undefined => {
  if (fallbacks?.type === "array" && !fallbacks.empty) return namesOtherModel("fallbacks")
  return tools?.typeNames.some((name) => name === "advisor" || name.startsWith("advisor_"))
    ? namesOtherModel("tools")
    : undefined
}

const namesOtherModel = (param: string): InvalidRequest =>
  new InvalidRequest({ message: `'${param}' must not name another model: a request is served by one model.`, param })

/** Returns the total size of the members that a model reads: system prompt, messages, tools and output format. */
const sizeOf = ({ system, messages, tools, output_config, output_format }: MessagesMembers) =>
  sizeOfMembers([system, messages, tools, output_config, output_format])

/** The value of `anthropic-version` for the provider if the client does not send this header. */
const DEFAULT_VERSION = "2023-06-01"

/**
 * Returns the headers for a provider (docs/reference/inference.md#f4). Only the client headers `anthropic-version` and
 * `anthropic-beta` are passed on.
 */
export const messagesHeadersFor = (
  clientHeaders: NodeJS.Dict<string | Array<string>>,
  streamed: boolean
): Record<string, string> => {
  const beta = valueOf(clientHeaders["anthropic-beta"])
  return {
    ...jsonHeaders(streamed),
    "anthropic-version": valueOf(clientHeaders["anthropic-version"]) ?? DEFAULT_VERSION,
    ...(beta === undefined ? {} : { "anthropic-beta": beta })
  }
}

/** Returns the value of a header; undefined if the header is absent or empty. */
const valueOf = (header: string | Array<string> | undefined): string | undefined =>
  (Array.isArray(header) ? header.join(",") : header) || undefined
