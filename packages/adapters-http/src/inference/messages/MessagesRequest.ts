/**
 * Reads a request for a message or for a token count, and builds the headers for a provider. Only the
 * JSON members that routing, metering and billing need are read. The body is sent to the provider byte for byte, except
 * for the value of `model`.
 */
import type { InferenceRequest } from "@tollgate/application/inference/RelayConnection"
import { hostedToolOf } from "@tollgate/domain/inference/HostedTools"
import type { InvalidRequest } from "@tollgate/domain/inference/InferenceErrors"
import { promptText } from "@tollgate/domain/inference/MessagesPrompt"
import * as Either from "effect/Either"
import { isPresent, MemberValues, outputLimit, sizeOfMembers } from "../../wire/BodyMembers.ts"
import { ClientBody } from "../../wire/ClientBody.ts"
import { hostedToolsIn } from "../../wire/HostedToolMembers.ts"
import { type ScannedBody, slicedScanner } from "../../wire/JsonScan.ts"
import { namesOtherModel, otherModelsIn } from "../../wire/OtherModels.ts"
import { promptIn } from "../../wire/PromptMembers.ts"
import { MAX_PROMPT_VALUES } from "../../wire/ScanPlan.ts"
import type { Slices } from "../../wire/Slices.ts"
import { EACH, type ToolPath, toolNamesIn } from "../../wire/ToolDefinitions.ts"
import { jsonHeaders } from "../relay/UpstreamRequestParts.ts"

export interface MessagesRequest extends InferenceRequest {
  readonly body: ClientBody
  readonly members: MessagesMembers
}

type MessagesMembers = ScannedBody<keyof typeof members>

const hostedTool = (type: string) => hostedToolOf("messages", type)

const members = {
  model: {},
  messages: { each: "role" },
  max_tokens: {},
  stream: {},
  system: {},
  tools: { nameOfType: hostedTool },
  mcp_servers: {},
  output_config: {},
  output_format: {},
  plugins: {},
  fallbacks: {},
  models: {},
  thread: { inside: { previous_message_id: {} } }
}

const scan = slicedScanner({
  members,
  maxValues: MAX_PROMPT_VALUES,
  media: {
    members: ["data"],
    types: ["image", "document"],
    unsizedTypes: ["container_upload", "document"],
    toolTypes: ["tool_definition"],
    unread: ["id", "media_type", "signature", "tool_use_id", "type"]
  }
})

/** The paths from `messages` to the types of the tools that a block can define. */
const TOOLS_IN_MESSAGES: ReadonlyArray<ToolPath> = [
  [EACH, "content", EACH, "tool", "definition", "type"],
  [EACH, "content", EACH, "tool_changes", EACH, "tool", "definition", "type"]
]

/** A `max_tokens` of 0 is valid: Anthropic then fills the prompt cache and generates nothing. */
export const readMessagesRequest = (body: Buffer): Slices<Either.Either<MessagesRequest, InvalidRequest>> =>
  read(body, (values, { max_tokens }) => values.count(max_tokens, "max_tokens"))

/** Reads a request for a token count. Unlike a request for a message, it has no `max_tokens`. */
export const readCountRequest = (body: Buffer): Slices<Either.Either<MessagesRequest, InvalidRequest>> =>
  read(body, () => undefined)

function* read(
  bytes: Buffer,
  maxTokensOf: (values: MemberValues, members: MessagesMembers) => number | undefined
): Slices<Either.Either<MessagesRequest, InvalidRequest>> {
  const scanned = yield* scan(bytes)
  if (Either.isLeft(scanned)) return Either.left(scanned.left)
  const members = scanned.right
  const values = new MemberValues(bytes)
  const model = values.name(members.model, "model")
  values.filledArray(members.messages, "messages")
  const maxOutputTokens = outputLimit(maxTokensOf(values, members))
  const streamed = values.flag(members.stream, "stream")
  const { messages, system, tools, output_config, output_format } = members
  const addedTools = yield* toolNamesIn(bytes, messages, TOOLS_IN_MESSAGES, hostedTool)
  const fault = values.fault ?? otherModel(members, addedTools)
  if (fault !== undefined) return Either.left(fault)
  const hostedTools = hostedToolsIn(tools, {
    mcp_servers: [members.mcp_servers, "mcp"],
    plugins: [members.plugins, "plugins"]
  })
  const body = new ClientBody(bytes)
  return Either.right({
    model,
    streamed,
    size: { ...sizeOf(members), maxOutputTokens, choices: 1 },
    hostedTools: [...hostedTools, ...addedTools.map((name) => ({ name, param: "messages" }))],
    promptText: () => promptIn(body.bytes(), { messages, system, tools, output_config, output_format }, promptText),
    body,
    members
  })
}

/**
 * Refuses a request that can select a second model, as a fallback or as an advisor. `addedTools` are the names of the
 * hosted tools that the messages define.
 */
const otherModel = (
  { fallbacks, models, tools }: MessagesMembers,
  addedTools: ReadonlyArray<string>
): InvalidRequest | undefined => {
  if (tools?.typeNames.some(isAdvisor)) return namesOtherModel("tools")
  return addedTools.some(isAdvisor) ? namesOtherModel("messages") : otherModelsIn({ fallbacks, models })
}

const isAdvisor = (name: string): boolean => name === "advisor" || name.startsWith("advisor_")

/**
 * Returns the total size of the members that a model reads: system prompt, messages, tools and output format. The size
 * of a conversation that the provider has stored is unknown.
 */
const sizeOf = ({ system, messages, tools, output_config, output_format, thread }: MessagesMembers) => {
  const size = sizeOfMembers([system, messages, tools, output_config, output_format])
  return isPresent(thread?.inside.previous_message_id) ? { ...size, hasUnsizedContent: true } : size
}

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
