/**
 * A responses request as a client asks for it: understood no further than routing, metering and billing need, and
 * sent on with every other byte as it came.
 */
import type { InferenceRequest } from "@tollgate/application/inference/RelayConnection"
import { InvalidRequest } from "@tollgate/domain/inference/InferenceErrors"
import { promptText } from "@tollgate/domain/inference/ResponsesPrompt"
import * as Either from "effect/Either"
import { type ScannedBody, type ScannedMember, scanner } from "../../wire/JsonScan.ts"
import { MemberValues } from "../../wire/MemberValues.ts"
import { splice } from "../../wire/Splice.ts"
import { otherModelsTool } from "./OtherModelsTools.ts"

export interface ResponsesRequest extends InferenceRequest {
  readonly body: Buffer
  readonly members: ResponsesMembers
}

type ResponsesMembers = ScannedBody<keyof typeof members>

const members = {
  model: {},
  input: {},
  instructions: {},
  stream: {},
  background: {},
  max_output_tokens: {},
  tools: {},
  text: { inside: { format: {} } }
}

const scan = scanner({
  members,
  media: {
    // Encrypted reasoning is read by some models and dropped by others, so it is not counted on.
    members: ["image_url", "file_data", "data", "result", "encrypted_content"],
    types: ["input_image", "input_file", "input_audio", "computer_screenshot", "image_generation_call"]
  }
})

export const readResponsesRequest = (body: Buffer): Either.Either<ResponsesRequest, InvalidRequest> =>
  Either.flatMap(scan(body), (members) => {
    const values = new MemberValues(body)
    const model = values.name(members.model, "model")
    if (!isInput(members.input)) values.fault ??= invalid("input", "must be a string or an array that is not empty")
    const streamed = values.flag(members.stream, "stream")
    // Nobody could fetch such a response, and it would go on, and be billed to us, after its client has left.
    if (values.flag(members.background, "background")) {
      values.fault ??= invalid("background", "must not be true: responses are not stored by this service")
    }
    values.fault ??= otherModelsTool(body, members.tools)
    const limit = values.integer(members.max_output_tokens, "max_output_tokens")
    if (values.fault !== undefined) return Either.left(values.fault)
    // Some suppliers take a limit below 1 for none.
    const maxOutputTokens = limit !== undefined && limit < 1 ? undefined : limit
    const size = { ...sizeOf(members), maxOutputTokens, choices: 1 }
    return Either.right({
      model,
      streamed,
      size,
      promptText: () => promptText(JSON.parse(body.toString())),
      body,
      members
    })
  })

/** The body for a supplier: only `model` changes. Streams report their usage without being asked. */
export const responsesBodyFor = ({ body, members: { model } }: ResponsesRequest, upstreamModel: string): Uint8Array =>
  model === undefined ? body : splice(body, [{ ...model, text: JSON.stringify(upstreamModel) }])

const isInput = (member: ScannedMember | undefined): boolean =>
  (member?.kind === "string" && member.end - member.start > 2) || (member?.kind === "array" && !member.empty)

const invalid = (param: string, must: string): InvalidRequest =>
  new InvalidRequest({ message: `'${param}' ${must}.`, param })

/** What a model reads: the input, and the instructions and definitions that come with it. */
const sizeOf = ({ input, instructions, tools, text }: ResponsesMembers) => {
  let textBytes = 0
  let attachments = 0
  for (const member of [input, instructions, tools, text?.inside.format]) {
    textBytes += member?.textBytes ?? 0
    attachments += member?.attachments ?? 0
  }
  return { textBytes, attachments }
}
