/**
 * A chat completion as a client asks for it: understood no further than routing, metering and billing need, and sent
 * on with every other byte as it came.
 */

import type { InferenceRequest } from "@tollgate/application/inference/RelayConnection"
import { promptText } from "@tollgate/domain/inference/ChatPrompt"
import type { RequestSize } from "@tollgate/domain/inference/Estimate"
import type { InvalidRequest } from "@tollgate/domain/inference/InferenceErrors"
import * as Either from "effect/Either"
import { type ScannedBody, type ScannedMember, scanner } from "../../wire/JsonScan.ts"
import { MemberValues } from "../../wire/MemberValues.ts"
import { type Splice, splice } from "../../wire/Splice.ts"

export interface ChatRequest extends InferenceRequest {
  /** The client wants to be told the usage of its stream. */
  readonly includeUsage: boolean
  readonly body: Buffer
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
  tools: {},
  functions: {},
  response_format: {}
}

const scan = scanner({
  members,
  media: { members: ["url", "data", "file_data"], types: ["image_url", "input_audio", "video_url", "file"] }
})

export const readChatRequest = (body: Buffer): Either.Either<ChatRequest, InvalidRequest> =>
  Either.flatMap(scan(body), (members) => {
    const values = new MemberValues(body)
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
    if (values.fault !== undefined) return Either.left(values.fault)
    const size = sizeOf(members, largest(limits), choices)
    const parsed = () => promptText(JSON.parse(body.toString()))
    return Either.right({ model, streamed, size, promptText: parsed, includeUsage, body, members })
  })

/**
 * The body for a supplier. Streams always ask it for usage, whatever the client did: settlement depends on it. Only
 * `model` and `stream_options.include_usage` change.
 */
export const chatBodyFor = ({ body, members, streamed }: ChatRequest, upstreamModel: string): Uint8Array => {
  const { model, stream_options: options } = members
  if (model === undefined) return body
  const splices: Array<Splice> = [replacement(model, JSON.stringify(upstreamModel))]
  if (streamed) {
    const asked = includeUsageOf(members)
    if (asked !== undefined) splices.push(replacement(asked, "true"))
    else if (options?.kind === "object") splices.push(insertion(options.start + 1, options.empty ? ASK : `${ASK},`))
    else if (options !== undefined) splices.push(replacement(options, `{${ASK}}`))
    else splices.push(insertion(model.end, `,"stream_options":{${ASK}}`))
  }
  return splice(body, splices)
}

const ASK = '"include_usage":true'

const includeUsageOf = (members: ChatMembers): ScannedMember | undefined => members.stream_options?.inside.include_usage

const replacement = ({ start, end }: ScannedMember, text: string): Splice => ({ start, end, text })

const insertion = (at: number, text: string): Splice => ({ start: at, end: at, text })

/** What a model reads: the messages, and the definitions that come with them. */
const sizeOf = (
  { messages, tools, functions, response_format }: ChatMembers,
  maxOutputTokens: number | undefined,
  choices: number
): RequestSize => {
  let textBytes = 0
  let attachments = 0
  for (const member of [messages, tools, functions, response_format]) {
    textBytes += member?.textBytes ?? 0
    attachments += member?.attachments ?? 0
  }
  return { textBytes, attachments, maxOutputTokens, choices }
}

/** Suppliers differ in which limit they obey. One below 1 means "none" to some of them. */
const largest = (limits: ReadonlyArray<number | undefined>): number | undefined => {
  const given = limits.filter((limit) => limit !== undefined)
  return given.length === 0 || given.some((limit) => limit < 1) ? undefined : Math.max(...given)
}
