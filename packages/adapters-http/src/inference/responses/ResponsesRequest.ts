/**
 * This module reads a request in the responses protocol. Only the JSON members that routing, metering and billing need
 * are read. The body is sent to the provider byte for byte, except for the value of `model`.
 */
import type { InferenceRequest } from "@tollgate/application/inference/RelayConnection"
import { hostedToolOf } from "@tollgate/domain/inference/HostedTools"
import { InvalidRequest } from "@tollgate/domain/inference/InferenceErrors"
import { promptText } from "@tollgate/domain/inference/ResponsesPrompt"
import * as Either from "effect/Either"
import { isPresent, MemberValues, outputLimit, sizeOfMembers } from "../../wire/BodyMembers.ts"
import { ClientBody } from "../../wire/ClientBody.ts"
import { hostedToolsIn } from "../../wire/HostedToolMembers.ts"
import { type ScannedBody, type ScannedMember, slicedScanner } from "../../wire/JsonScan.ts"
import { otherModelsIn } from "../../wire/OtherModels.ts"
import { promptIn } from "../../wire/PromptMembers.ts"
import { MAX_PROMPT_VALUES } from "../../wire/ScanPlan.ts"
import type { Slices } from "../../wire/Slices.ts"
import { EACH, type ToolPath, toolNamesIn } from "../../wire/ToolDefinitions.ts"
import { areShellsLocal, SHELL_TOOL } from "./ShellTools.ts"

export interface ResponsesRequest extends InferenceRequest {
  readonly body: ClientBody
  readonly members: ResponsesMembers
}

const IMAGE_TOOL = "image_generation"

type ResponsesMembers = ScannedBody<keyof typeof members>

const hostedTool = (type: string) => hostedToolOf("responses", type)

const members = {
  model: {},
  input: { countsElements: true },
  instructions: {},
  previous_response_id: {},
  conversation: {},
  prompt: {},
  stream: {},
  background: {},
  max_output_tokens: {},
  tools: { nameOfType: hostedTool },
  search_parameters: {},
  plugins: {},
  fallbacks: {},
  models: {},
  text: { inside: { format: {} } }
}

const scan = slicedScanner({
  members,
  maxValues: MAX_PROMPT_VALUES,
  media: {
    // Long encrypted reasoning is not counted as text, because some models ignore it.
    members: ["image_url", "file_data", "data", "result", "encrypted_content"],
    types: ["input_image", "input_file", "input_audio", "computer_screenshot", "image_generation_call"],
    unsizedTypes: ["input_audio", "input_file", "item_reference"],
    toolTypes: ["additional_tools", "tool_search_output"],
    unread: ["call_id", "detail", "encrypted_content", "id", "phase", "status", "type"]
  }
})

/** The paths from `input` to the types of the tools that an item can define. */
const TOOLS_IN_INPUT: ReadonlyArray<ToolPath> = [[EACH, "tools", EACH, "type"]]

export function* readResponsesRequest(body: Buffer): Slices<Either.Either<ResponsesRequest, InvalidRequest>> {
  const scanned = yield* scan(body)
  if (Either.isLeft(scanned)) return Either.left(scanned.left)
  const { input, tools } = scanned.right
  const addedTools = yield* toolNamesIn(body, input, TOOLS_IN_INPUT, hostedTool)
  const hasShell = tools?.typeNames.includes(SHELL_TOOL) === true
  const unhosted = hasShell && (yield* areShellsLocal(body, tools)) ? SHELL_TOOL : undefined
  return requestOf(body, scanned.right, addedTools, unhosted)
}

/**
 * `addedTools` are the names of the hosted tools that items of the input define. `unhosted` is the name of a tool that
 * the client runs, although its type is hosted; undefined if there is none.
 */
const requestOf = (
  bytes: Buffer,
  members: ResponsesMembers,
  addedTools: ReadonlyArray<string>,
  unhosted: string | undefined
): Either.Either<ResponsesRequest, InvalidRequest> => {
  const values = new MemberValues(bytes)
  const model = values.name(members.model, "model")
  if (!isInput(members.input)) values.fault ??= invalid("input", "must be a non-empty string or a non-empty array")
  const streamed = values.flag(members.stream, "stream")
  // A client could never fetch a background response, but the provider would generate it and charge the gateway.
  if (values.flag(members.background, "background")) {
    values.fault ??= invalid("background", "must not be true: this service does not store responses")
  }
  const maxOutputTokens = outputLimit(values.integer(members.max_output_tokens, "max_output_tokens"))
  const { input, instructions, tools, text, fallbacks, models } = members
  values.fault ??= imageTool("tools", tools?.typeNames ?? []) ?? imageTool("input", addedTools)
  const fault = values.fault ?? otherModelsIn({ fallbacks, models })
  if (fault !== undefined) return Either.left(fault)
  const hostedTools = hostedToolsIn(tools, {
    search_parameters: [members.search_parameters, "web_search"],
    plugins: [members.plugins, "plugins"]
  })
  const body = new ClientBody(bytes)
  return Either.right({
    model,
    streamed,
    size: { ...sizeOf(members), maxOutputTokens, choices: 1 },
    hostedTools: [
      ...hostedTools.filter(({ name }) => name !== unhosted),
      ...addedTools.map((name) => ({ name, param: "input" }))
    ],
    promptText: () => promptIn(body.bytes(), { input, instructions, tools, text }, promptText),
    body,
    members
  })
}

/**
 * Refuses the tool that generates images. The provider would run an image model and charge the gateway for it, but the
 * customer would be charged the price of the text model.
 */
const imageTool = (param: string, tools: ReadonlyArray<string>): InvalidRequest | undefined =>
  tools.includes(IMAGE_TOOL)
    ? invalid(
        param,
        `must not contain '${IMAGE_TOOL}': use an image model at /v1/images/generations to generate images`
      )
    : undefined

const isInput = (member: ScannedMember | undefined): boolean =>
  (member?.type === "string" && member.end - member.start > 2) || (member?.type === "array" && !member.empty)

const invalid = (param: string, must: string): InvalidRequest =>
  new InvalidRequest({ message: `'${param}' ${must}.`, param })

/**
 * Returns the total size of the members that a model reads: input, instructions, tools and text format. The size of a
 * prompt that the provider has stored is unknown.
 */
const sizeOf = ({ input, instructions, tools, text, ...stored }: ResponsesMembers) => {
  const size = sizeOfMembers([input, instructions, tools, text?.inside.format])
  const isStored = [stored.previous_response_id, stored.conversation, stored.prompt].some(isPresent)
  return isStored ? { ...size, hasUnsizedContent: true } : size
}
