/**
 * Finds the types of the tools that the prompt of a body defines, outside the member `tools` of the body. For example,
 * an item of the type `additional_tools` in the `input` of a responses request has its own `tools`.
 *
 * Such definitions are rare, and a scan of a body counts them (`ScannedMember.toolDefinitions`). Only a member with
 * definitions is read again here, in slices.
 */
import { BodySize, mediaOf } from "./BodySize.ts"
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  JsonReader,
  OPEN_ARRAY,
  OPEN_OBJECT,
  PAUSED,
  QUOTE,
  SLICE_BYTES
} from "./JsonReader.ts"
import { MAX_TYPE_BYTES, type ScannedMember } from "./JsonScan.ts"
import { MemberNames, NO_MATCH } from "./MemberNames.ts"
import { MAX_TYPE_NAMES } from "./ScanPlan.ts"
import type { Slices } from "./Slices.ts"

/** Stands in a path for each element of an array. */
export const EACH = "[]"

/** The way from a member of the body to the type of a tool: names of members, and {@link EACH}. */
export type ToolPath = ReadonlyArray<string>

const NO_MEDIA = mediaOf({ members: [], types: [] })

/**
 * Returns the different names, at most {@link MAX_TYPE_NAMES}, that `nameOfType` returns for the types at the end of
 * these paths. The bytes of the member were already checked to be valid JSON.
 */
export function* toolNamesIn(
  body: Buffer,
  member: ScannedMember | undefined,
  paths: ReadonlyArray<ToolPath>,
  nameOfType: (type: string) => string | undefined
): Slices<ReadonlyArray<string>> {
  const names = new Set<string>()
  if (member === undefined || member.toolDefinitions === 0) return []
  const add = (type: string) => {
    const name = nameOfType(type)
    if (name !== undefined && names.size < MAX_TYPE_NAMES) names.add(name)
  }
  for (const path of paths) {
    const steps = path.map((step) => (step === EACH ? EACH : new MemberNames([step])))
    yield* new PathReader(body, steps, add).read(member.start, 0)
  }
  return [...names]
}

class PathReader {
  readonly #reader: JsonReader
  readonly #steps: ReadonlyArray<MemberNames | typeof EACH>
  readonly #add: (type: string) => void

  constructor(body: Buffer, steps: ReadonlyArray<MemberNames | typeof EACH>, add: (type: string) => void) {
    this.#reader = new JsonReader(body, new BodySize(NO_MEDIA))
    this.#reader.pauseAt = SLICE_BYTES
    this.#steps = steps
    this.#add = add
  }

  /** Reads the value at `at`, to which the first `taken` steps of the path have led. Returns the end of the value. */
  *read(at: number, taken: number): Slices<number> {
    const { bytes } = this.#reader
    const step = this.#steps[taken]
    if (step === EACH && bytes[at] === OPEN_ARRAY) {
      return yield* this.#items(at, CLOSE_ARRAY, (item) => this.read(item, taken + 1))
    }
    if (step instanceof MemberNames && bytes[at] === OPEN_OBJECT) {
      return yield* this.#items(at, CLOSE_OBJECT, (name) => this.#member(name, step, taken))
    }
    const end = yield* this.#value(at)
    if (step === undefined && bytes[at] === QUOTE && end - at <= MAX_TYPE_BYTES) {
      this.#add(JSON.parse(bytes.toString("utf8", at, end)))
    }
    return end
  }

  /** Reads a member of an object. A name that differs only in case leads on too, because some providers ignore case. */
  *#member(at: number, names: MemberNames, taken: number): Slices<number> {
    const value = this.#reader.name(at)
    const isNext = names.find(this.#reader.bytes, at + 1, this.#reader.nameEnd) !== NO_MATCH
    return yield* isNext ? this.read(value, taken + 1) : this.#value(value)
  }

  *#items(open: number, close: number, read: (at: number) => Slices<number>): Slices<number> {
    const reader = this.#reader
    let at = reader.skipSpace(open + 1)
    while (reader.bytes[at] !== close) {
      if (at >= reader.pauseAt) {
        yield
        reader.pauseAt = at + SLICE_BYTES
      }
      at = reader.nextItem(yield* read(at), close)
    }
    return at + 1
  }

  *#value(at: number): Slices<number> {
    let end = this.#reader.value(at, 0, -1)
    while (end === PAUSED) {
      yield
      end = this.#reader.continue()
    }
    return end
  }
}
