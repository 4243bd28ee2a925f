/**
 * Scans the bytes of a body in one pass: checks that the body is a well-formed JSON object, and finds the members that
 * routing, metering and billing need.
 *
 * Each of these members must occur at most once (docs/reference/inference.md#f3). A name that differs from it only in
 * case is refused (docs/reference/inference.md#i7), unless the plan sets `caseSensitive`. Otherwise the gateway and the
 * provider could read different values, because some parsers take the last duplicate, and some parsers ignore case. For
 * all other members, only the syntax is checked. The member that `each` requires in every element of an array (such as
 * `role` in `messages`) can be repeated: the scan checks only that its last value is a string.
 */
import { isUtf8 } from "node:buffer"
import { InvalidRequest } from "@tollgate/domain/inference/InferenceErrors"
import * as Either from "effect/Either"
import { BodySize, type Media, mediaOf, PUNCTUATION_BYTES } from "./BodySize.ts"
import { hasByteOrderMark } from "./ByteOrderMark.ts"
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  FIRST_SLICE_BYTES,
  JsonReader,
  MAX_DEPTH,
  OPEN_ARRAY,
  OPEN_OBJECT,
  PAUSED,
  QUOTE,
  SLICE_BYTES
} from "./JsonReader.ts"
import { type JsonType, jsonTypeOf } from "./JsonType.ts"
import { MemberNames, NO_MATCH, nearMatch } from "./MemberNames.ts"
import { MAX_TYPE_NAMES, type MemberPlan, type ScanPlan, type Wanted, type WantedMember, wantedOf } from "./ScanPlan.ts"
import { runSlices, type Slices } from "./Slices.ts"
import { TextSamples } from "./TextSamples.ts"

/** The parts of {@link BodySize} that are counted for each found member. */
type Sizes = Readonly<Omit<BodySize, "addString">>

/** A found member. Its value is the bytes from `start` (inclusive) to `end` (exclusive). */
export interface ScannedMember extends Sizes {
  readonly type: JsonType
  readonly start: number
  readonly end: number
  /** Number of JSON values in the value, which is at least 1. */
  readonly values: number
  /** The different names that the plan collects for the `type` of the elements, at most {@link MAX_TYPE_NAMES}. */
  readonly typeNames: ReadonlyArray<string>
  /** Number of elements of an array if the plan counts them; otherwise 0. */
  readonly elements: number
  /** Pieces of the text of the whole body; undefined if the body has at most {@link MAX_UNSAMPLED_BYTES}. */
  readonly samples: TextSamples | undefined
  /** True if the value is empty. Has a meaning only for an object or an array. */
  readonly empty: boolean
  readonly inside: { readonly [name: string]: ScannedMember }
}

export type ScannedBody<Name extends string> = { readonly [N in Name]?: ScannedMember }

type ScanResult<Name extends string> = Either.Either<ScannedBody<Name>, InvalidRequest>

/** Returns a function that scans a body for the members of the plan, without a pause. */
export const scanner = <Name extends string>(plan: ScanPlan<Name>): ((body: Buffer) => ScanResult<Name>) => {
  const scan = slicedScanner(plan)
  return (body) => runSlices(scan(body))
}

/**
 * Returns a function that scans a body in slices: first a slice of {@link FIRST_SLICE_BYTES}, then slices of
 * {@link SLICE_BYTES}. Tests pass a smaller `sliceBytes`, which then is the size of every slice.
 */
export const slicedScanner = <Name extends string>(
  plan: ScanPlan<Name>
): ((body: Buffer, sliceBytes?: number) => Slices<ScanResult<Name>>) => {
  const wanted = wantedOf(plan.members)
  const media = mediaOf(plan.media)
  return function* (body, sliceBytes = SLICE_BYTES) {
    if (!isUtf8(body)) return Either.left(notJson("it is not UTF-8"))
    if (hasByteOrderMark(body)) return Either.left(notJson("it begins with a byte order mark"))
    const found: Found = {}
    const scan = new Scan(body, media, plan, sliceBytes)
    return (yield* scan.root(wanted, found)) ? Either.right(found as ScannedBody<Name>) : Either.left(scan.refusal())
  }
}

/** A body of at most this many bytes is not sampled, because its prompt is small enough to be parsed. */
const MAX_UNSAMPLED_BYTES = 64 * 1024

type Found = { [name: string]: ScannedMember }
/** The shared value of `inside` of most members. A request stores its members until its end. */
const NO_MEMBERS: Found = Object.freeze({})
const TYPE = new MemberNames(["type"])
/** The maximum size in bytes of a `type` that is tested. No known type is longer. */
export const MAX_TYPE_BYTES = 1024
/** The methods that are generators yield between two slices. */
class Scan {
  readonly #reader: JsonReader
  readonly #samples: TextSamples | undefined
  readonly #maxValues: number
  readonly #refusesNear: boolean
  #refusal: InvalidRequest | undefined
  /** True if the last element had the required member, with a string. */
  #present = false
  /** The names that were collected for the elements of the last array. */
  #typeNames: ReadonlyArray<string> = []
  /** Number of elements of the last array. */
  #elementCount = 0

  constructor(
    body: Buffer,
    media: Media,
    { caseSensitive, maxValues }: Omit<ScanPlan<string>, "members">,
    sliceBytes: number
  ) {
    this.#refusesNear = caseSensitive !== true
    this.#maxValues = maxValues ?? Number.POSITIVE_INFINITY
    this.#samples = body.length > MAX_UNSAMPLED_BYTES ? new TextSamples() : undefined
    this.#reader = new JsonReader(body, new BodySize(media, this.#samples))
    this.#reader.pauseAt = sliceBytes < SLICE_BYTES ? sliceBytes : FIRST_SLICE_BYTES
    this.#reader.sliceBytes = sliceBytes
  }

  *root(wanted: Wanted, found: Found): Slices<boolean> {
    const reader = this.#reader
    const start = reader.skipSpace(0)
    if (reader.bytes[start] !== OPEN_OBJECT) return this.#refuse("The request body must be a JSON object.", null) > 0
    const end = yield* this.#object(start, 1, wanted, found, "")
    if (end < 0) return false
    const rest = reader.skipSpace(end)
    return rest === reader.bytes.length || reader.fail(rest) > 0
  }

  refusal(): InvalidRequest {
    const { errorAt, tooDeep, bytes } = this.#reader
    if (this.#refusal !== undefined) return this.#refusal
    if (tooDeep) return notJson(`it is nested more than ${MAX_DEPTH} levels deep`)
    return notJson(
      errorAt >= bytes.length ? "it ends before the object is complete" : `unexpected character at byte ${errorAt}`
    )
  }

  #refuse(message: string, param: string | null): -1 {
    this.#refusal = new InvalidRequest({ message, param })
    return -1
  }

  /** Ends a slice between two items, and begins the next slice. Returns false if the body has too many values. */
  *#slice(at: number): Slices<boolean> {
    yield
    this.#reader.pauseAt = at + this.#reader.sliceBytes
    return this.#hasFewValues()
  }

  /** Reads the rest of a paused value. */
  *#rest(): Slices<number> {
    let end = PAUSED
    while (end === PAUSED && this.#hasFewValues()) {
      yield
      end = this.#reader.continue()
    }
    return end === PAUSED ? -1 : end
  }

  #hasFewValues(): boolean {
    if (this.#reader.values <= this.#maxValues) return true
    this.#refuse(`The request body must have at most ${this.#maxValues} JSON values.`, null)
    return false
  }

  *#object(open: number, depth: number, wanted: Wanted, found: Found, path: string): Slices<number> {
    const reader = this.#reader
    let at = reader.skipSpace(open + 1)
    while (reader.bytes[at] !== CLOSE_OBJECT) {
      if (at >= reader.pauseAt && !(yield* this.#slice(at))) return -1
      const value = reader.name(at)
      if (value < 0) return -1
      const match = wanted.names.find(reader.bytes, at + 1, reader.nameEnd)
      let end: number
      if (match === NO_MATCH || (match < 0 && !this.#refusesNear)) {
        end = reader.value(value, depth, at + 1)
        if (end === PAUSED) end = yield* this.#rest()
      } else {
        const member = wanted.members[match < 0 ? nearMatch(match) : match]
        if (member === undefined) return -1
        const name = path + member.name
        if (match < 0) return this.#refuse(`The member name must be spelled exactly '${name}', in lower case.`, name)
        if (found[member.name] !== undefined) return this.#refuse(`'${name}' occurs more than once.`, name)
        end = yield* this.#member(at + 1, value, depth, member, found, name)
      }
      at = end < 0 ? -1 : reader.nextItem(end, CLOSE_OBJECT)
      if (at < 0) return -1
    }
    return at + 1
  }

  *#member(
    nameStart: number,
    at: number,
    depth: number,
    member: WantedMember,
    found: Found,
    path: string
  ): Slices<number> {
    const reader = this.#reader
    const { values } = reader
    const { textBytes, structureBytes, attachments, unsized, toolDefinitions, unreadBytes } = reader.size
    const inside: Found = member.inside === undefined ? NO_MEMBERS : {}
    const first = reader.bytes[at]
    this.#typeNames = []
    this.#elementCount = 0
    let end: number
    if (member.inside !== undefined && first === OPEN_OBJECT) {
      end = yield* this.#object(at, depth + 1, member.inside, inside, `${path}.`)
    } else if ((member.countsElements || member.nameOfType !== undefined) && first === OPEN_ARRAY) {
      end = yield* this.#elements(at, depth + 1, member, path)
    } else {
      end = reader.value(at, depth, nameStart)
      if (end === PAUSED) end = yield* this.#rest()
    }
    found[member.name] = {
      type: jsonTypeOf(first),
      start: at,
      end,
      textBytes: reader.size.textBytes - textBytes,
      structureBytes: reader.size.structureBytes - structureBytes,
      attachments: reader.size.attachments - attachments,
      unsized: reader.size.unsized - unsized,
      toolDefinitions: reader.size.toolDefinitions - toolDefinitions,
      unreadBytes: reader.size.unreadBytes - unreadBytes,
      values: Math.max(1, reader.values - values),
      typeNames: this.#typeNames,
      elements: member.countsElements ? this.#elementCount : 0,
      samples: this.#samples,
      empty: end === reader.skipSpace(at + 1) + 1,
      inside
    }
    return end
  }

  *#elements(open: number, depth: number, { each, nameOfType }: WantedMember, path: string): Slices<number> {
    const reader = this.#reader
    let index = -1
    let at = reader.skipSpace(open + 1)
    while (reader.bytes[at] !== CLOSE_ARRAY) {
      if (at >= reader.pauseAt && !(yield* this.#slice(at))) return -1
      index++
      let end: number
      if (reader.bytes[at] === OPEN_OBJECT) {
        this.#present = false
        reader.values++
        reader.size.structureBytes += PUNCTUATION_BYTES
        end = yield* this.#element(at, depth, each ?? TYPE, nameOfType)
        if (end >= 0 && each !== undefined && !this.#present) {
          const param = `${path}[${index}].${each.names[0]}`
          return this.#refuse(`'${param}' is required and must be a string.`, param)
        }
      } else {
        if (each !== undefined) return this.#refuse(`'${path}[${index}]' must be an object.`, `${path}[${index}]`)
        end = reader.value(at, depth, -1)
        if (end === PAUSED) end = yield* this.#rest()
      }
      at = end < 0 ? -1 : reader.nextItem(end, CLOSE_ARRAY)
      if (at < 0) return -1
    }
    this.#elementCount = index + 1
    return at + 1
  }

  #addTypeName(name: string | undefined): void {
    if (name === undefined || this.#typeNames.length === MAX_TYPE_NAMES || this.#typeNames.includes(name)) return
    this.#typeNames = [...this.#typeNames, name]
  }

  /** Reads an element that is an object, and checks its member `name`. */
  *#element(open: number, depth: number, name: MemberNames, nameOfType: MemberPlan["nameOfType"]): Slices<number> {
    const reader = this.#reader
    let at = reader.skipSpace(open + 1)
    while (reader.bytes[at] !== CLOSE_OBJECT) {
      if (at >= reader.pauseAt && !(yield* this.#slice(at))) return -1
      const value = reader.name(at)
      if (value < 0) return -1
      const match = name.find(reader.bytes, at + 1, reader.nameEnd)
      let end = reader.value(value, depth + 1, at + 1)
      if (end === PAUSED) end = yield* this.#rest()
      if (end < 0) return -1
      if (match !== NO_MATCH) {
        const isText = reader.bytes[value] === QUOTE
        if (match === 0) this.#present = isText
        // Some providers ignore the case of a name, so `Type` is tested too.
        if (nameOfType !== undefined && isText && end - value <= MAX_TYPE_BYTES) {
          this.#addTypeName(nameOfType(JSON.parse(reader.bytes.toString("utf8", value, end))))
        }
      }
      at = reader.nextItem(end, CLOSE_OBJECT)
      if (at < 0) return -1
    }
    return at + 1
  }
}

const notJson = (why: string): InvalidRequest =>
  new InvalidRequest({ message: `The request body is not valid JSON: ${why}.`, param: null })
