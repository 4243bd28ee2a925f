/**
 * Decides whether the shell tools of a request are hosted (docs/reference/inference.md#x5). In the environment `local`,
 * the client runs the commands of the model. In any other environment, the provider runs them for a fee.
 */
import { hostedToolOf } from "@tollgate/domain/inference/HostedTools"
import * as Either from "effect/Either"
import { BodySize, mediaOf } from "../../wire/BodySize.ts"
import { CLOSE_ARRAY, JsonReader, PAUSED, SLICE_BYTES } from "../../wire/JsonReader.ts"
import { type ScannedMember, slicedScanner } from "../../wire/JsonScan.ts"
import type { Slices } from "../../wire/Slices.ts"

export const SHELL_TOOL = "shell"

/** The scan refuses a tool in which one of these members occurs twice, because providers read different occurrences. */
const scanTool = slicedScanner({
  members: { type: {}, environment: { inside: { type: {} } } },
  media: { members: [], types: [] }
})

/**
 * Returns true if each tool of the type `shell` in this array has the environment `local`. The bytes of the array were
 * already checked to be valid JSON.
 */
export function* areShellsLocal(body: Buffer, tools: ScannedMember): Slices<boolean> {
  const reader = new JsonReader(body, new BodySize(mediaOf({ members: [], types: [] })))
  reader.pauseAt = tools.start + SLICE_BYTES
  let at = reader.skipSpace(tools.start + 1)
  while (body[at] !== CLOSE_ARRAY) {
    let end = reader.value(at, 1, -1)
    while (end === PAUSED) {
      yield
      end = reader.continue()
    }
    const tool = body.subarray(at, end)
    const scanned = yield* scanTool(tool)
    if (Either.isLeft(scanned)) return false
    const { environment, type } = scanned.right
    const isShell = hostedToolOf("responses", textOf(tool, type)) === SHELL_TOOL
    if (isShell && textOf(tool, environment?.inside.type) !== "local") return false
    at = reader.nextItem(end, CLOSE_ARRAY)
  }
  return true
}

const textOf = (tool: Buffer, member: ScannedMember | undefined): string =>
  member?.type === "string" ? JSON.parse(tool.toString("utf8", member.start, member.end)) : ""
