/**
 * Reads the request for a chat completion, and builds the request body for a provider. Only the JSON members that
 * routing, metering and billing need are read.
 */
import type { InferenceRequest } from "@tollgate/application/inference/RelayConnection"
import { ATTACHMENTS, promptText } from "@tollgate/domain/inference/ChatPrompt"
import type { RequestSize } from "@tollgate/domain/inference/Estimate"
import { hostedToolOf } from "@tollgate/domain/inference/HostedTools"
import type { InvalidRequest } from "@tollgate/domain/inference/InferenceErrors"
import * as Either from "effect/Either"
import { MemberValues, type Splice, sizeOfMembers } from "../../wire/BodyMembers.ts"
import { ClientBody } from "../../wire/ClientBody.ts"
import { hostedToolsIn } from "../../wire/HostedToolMembers.ts"
import { type ScannedBody, type ScannedMember, slicedScanner } from "../../wire/JsonScan.ts"
import { otherModelsIn } from "../../wire/OtherModels.ts"
import { promptIn } from "../../wire/PromptMembers.ts"
import { MAX_PROMPT_VALUES } from "../../wire/ScanPlan.ts"
import type { Slices } from "../../wire/Slices.ts"

export interface ChatRequest extends InferenceRequest {
  /** True if the client has requested a usage report at the end of the stream. */
  readonly includeUsage: boolean
  readonly body: ClientBody
  readonly members: ChatMembers
}

type ChatMembers = ScannedBody<keyof typeof members>

const members = {
  model: {},
  messages: { each: "role" },
  stream: {},
  stream_options: { inside: { include_usage: {} } },
  max_tokens: {},
  max_completion_tokens: {},
  n: {},
  tools: { nameOfType: (type: string) => hostedToolOf("chat", type) },
  web_search_options: {},
  search_parameters: {},
  enable_search: {},
  plugins: {},
  fallbacks: {},
  models: {},
  functions: {},
  response_format: {}
}

const scan = slicedScanner({
  members,
  maxValues: MAX_PROMPT_VALUES,
  media: {
    members: ["url", "data", "file_data"],
    types: ATTACHMENTS,
    unsizedTypes: ["audio_url", "document_url", "file", "input_audio", "video_url"],
    unread: ["detail", "id", "tool_call_id", "type"]
  }
})

export function* readChatRequest(bytes: Buffer): Slices<Either.Either<ChatRequest, InvalidRequest>> {
  const scanned = yield* scan(bytes)
  return Either.isLeft(scanned) ? Either.left(scanned.left) : requestOf(bytes, scanned.right)
}

const requestOf = (bytes: Buffer, members: ChatMembers): Either.Either<ChatRequest, InvalidRequest> => {
  const values = new MemberValues(bytes)
  const model = values.name(members.model, "model")
  values.filledArray(members.messages, "messages")
  const streamed = values.flag(members.stream, "stream")
  values.object(members.stream_options, "stream_options")
  const includeUsage = values.flag(includeUsageOf(members), "stream_options.include_usage")
  const limits = [
    values.integer(members.max_tokens, "max_tokens"),
    values.integer(members.max_completion_tokens, "max_completion_tokens")
  ]
  const choices = values.integer(members.n, "n") ?? 1
  const { messages, tools, functions, response_format, fallbacks, models } = members
  const fault = values.fault ?? otherModelsIn({ fallbacks, models })
  if (fault !== undefined) return Either.left(fault)
  const size = sizeOf(members, largest(limits), choices)
  const body = new ClientBody(bytes)
  const prompt = () => promptIn(body.bytes(), { messages, tools, functions, response_format }, promptText)
  const hostedTools = hostedToolsIn(tools, {
    web_search_options: [members.web_search_options, "web_search"],
    search_parameters: [members.search_parameters, "web_search"],
    enable_search: [members.enable_search, "web_search"],
    plugins: [members.plugins, "plugins"]
  })
  return Either.right({ model, streamed, size, hostedTools, promptText: prompt, includeUsage, body, members })
}

/**
 * Returns the request body for a provider. Only `model` and `stream_options.include_usage` are changed. A stream is
 * always requested with a usage report, because the settlement uses the reported usage.
 */
export const chatBodyFor = ({ body, members, streamed }: ChatRequest, upstreamModel: string): Uint8Array => {
  const { model, stream_options: options } = members
  if (model === undefined) return body.forProvider([])
  const splices: Array<Splice> = [replacement(model, JSON.stringify(upstreamModel))]
  if (streamed) {
    const includeUsage = includeUsageOf(members)
    if (includeUsage !== undefined) splices.push(replacement(includeUsage, "true"))
    else if (options?.type === "object")
      splices.push(insertion(options.start + 1, options.empty ? INCLUDE_USAGE : `${INCLUDE_USAGE},`))
    else if (options !== undefined) splices.push(replacement(options, `{${INCLUDE_USAGE}}`))
    else splices.push(insertion(model.end, `,"stream_options":{${INCLUDE_USAGE}}`))
  }
  return body.forProvider(splices)
}

const INCLUDE_USAGE = '"include_usage":true'

const includeUsageOf = (members: ChatMembers): ScannedMember | undefined => members.stream_options?.inside.include_usage

const replacement = ({ start, end }: ScannedMember, text: string): Splice => ({ start, end, text })

const insertion = (at: number, text: string): Splice => ({ start: at, end: at, text })

/** Returns the total size of messages, tools, functions and the response format, and the limits of the output. */
const sizeOf = (
  { messages, tools, functions, response_format }: ChatMembers,
  maxOutputTokens: number | undefined,
  choices: number
): RequestSize => {
  // The members are copied one by one for speed: an object spread (`...`) would take a quarter of the time that the
  // scan of the whole body takes.
  const found = sizeOfMembers([messages, tools, functions, response_format])
  const { attachments, hasUnsizedContent, structureBytes, textBytes } = found
  return { textBytes, structureBytes, attachments, hasUnsizedContent, maxOutputTokens, choices }
}

/**
 * Returns the largest output limit, because providers differ in the limit that they apply. Returns undefined (no limit)
 * if no limit is given, and if a limit is below 1, because some providers ignore a limit below 1.
 */
const largest = (limits: ReadonlyArray<number | undefined>): number | undefined => {
  const given = limits.filter((limit) => limit !== undefined)
  return given.length === 0 || given.some((limit) => limit < 1) ? undefined : Math.max(...given)
}
