/**
 * A message as a client asks for it: understood no further than routing, metering and billing need, and sent on with
 * every other byte as it came.
 */
import type { InferenceRequest } from "@tollgate/application/inference/RelayConnection"
import type { InvalidRequest } from "@tollgate/domain/inference/InferenceErrors"
import { promptText } from "@tollgate/domain/inference/MessagesPrompt"
import * as Either from "effect/Either"
import { type ScannedBody, scanner } from "../../wire/JsonScan.ts"
import { MemberValues } from "../../wire/MemberValues.ts"
import { splice } from "../../wire/Splice.ts"
import { otherModel } from "./OtherModels.ts"

export interface MessagesRequest extends InferenceRequest {
  readonly body: Buffer
  readonly members: ScannedBody<keyof typeof members>
}

const members = {
  model: {},
  messages: { each: "role" },
  max_tokens: {},
  stream: {},
  system: {},
  tools: {},
  output_config: {},
  output_format: {},
  fallbacks: {}
}

const scan = scanner({ members, media: { members: ["data"], types: ["image", "document"] } })

export const readMessagesRequest = (body: Buffer): Either.Either<MessagesRequest, InvalidRequest> =>
  read(body, (values, { max_tokens }) => values.count(max_tokens, "max_tokens"))

/** The same without an answer: it has no limit, and no stream. */
export const readCountRequest = (body: Buffer): Either.Either<MessagesRequest, InvalidRequest> =>
  read(body, () => undefined)

const read = (
  body: Buffer,
  limitOf: (values: MemberValues, members: MessagesRequest["members"]) => number | undefined
): Either.Either<MessagesRequest, InvalidRequest> =>
  Either.flatMap(scan(body), (members) => {
    const values = new MemberValues(body)
    const model = values.name(members.model, "model")
    values.filledArray(members.messages, "messages")
    const maxOutputTokens = limitOf(values, members)
    const streamed = values.flag(members.stream, "stream")
    const fault = values.fault ?? otherModel(body, members)
    if (fault !== undefined) return Either.left(fault)
    return Either.right({
      model,
      streamed,
      size: { ...sizeOf(members), maxOutputTokens, choices: 1 },
      promptText: () => promptText(JSON.parse(body.toString())),
      body,
      members
    })
  })

/** The body for a supplier: only the name of the model changes. */
export const messagesBodyFor = ({ body, members }: MessagesRequest, upstreamModel: string): Uint8Array =>
  members.model === undefined ? body : splice(body, [{ ...members.model, text: JSON.stringify(upstreamModel) }])

/** What a model reads: the messages, and what is said and defined before them. */
const sizeOf = ({ system, messages, tools, output_config, output_format }: MessagesRequest["members"]) => {
  let textBytes = 0
  let attachments = 0
  for (const member of [system, messages, tools, output_config, output_format]) {
    textBytes += member?.textBytes ?? 0
    attachments += member?.attachments ?? 0
  }
  return { textBytes, attachments }
}
