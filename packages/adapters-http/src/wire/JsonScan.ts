/**
 * Scans the bytes of a body in one pass: checks that the body is a well-formed JSON object, and finds the members that
 * routing, metering and billing need.
 *
 * Each of these members must occur at most once (docs/reference/inference.md#f3) and in its exact spelling
 * (docs/reference/inference.md#i7). A duplicate, or a name that differs only in case, is refused. Otherwise the gateway
 * and the provider could read different values, because some parsers take the last duplicate, and some parsers ignore
 * case. For all other members, only the syntax is checked. The member that `each` requires in every element of an array
 * (such as `role` in `messages`) can be repeated: the scan checks only that its last value is a string.
 */

import { isUtf8 } from "node:buffer"
import { InvalidRequest } from "@tollgate/domain/inference/InferenceErrors"
import * as Either from "effect/Either"
import { BodySize, type Media, type MediaNames, mediaOf } from "./BodySize.ts"
import { CLOSE_ARRAY, CLOSE_OBJECT, JsonReader, MAX_DEPTH, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from "./JsonReader.ts"
import { MemberNames, NO_MATCH, nearMatch } from "./MemberNames.ts"

/** The members to find in the bodies of one protocol. */
export interface ScanPlan<Name extends string> {
  readonly members: { readonly [N in Name]: MemberPlan }
  readonly media: MediaNames
  /** True if a name that differs only in case is another member, which the caller checks. */
  readonly caseSensitive?: true
}

export interface MemberPlan {
  /** The members to find in the value if the value is an object. */
  readonly inside?: { readonly [name: string]: MemberPlan }
  /**
   * If the value is an array: the name of a member that every element must have. The value of this member (the last
   * value if the member is repeated) must be a string.
   */
  readonly each?: string
}

export type JsonKind = "object" | "array" | "string" | "number" | "boolean" | "null"

/** A found member. Its value is the bytes from `start` (inclusive) to `end` (exclusive). */
export interface ScannedMember {
  readonly kind: JsonKind
  readonly start: number
  readonly end: number
  /** Number of UTF-8 bytes of text in the value, as {@link BodySize} counts them. */
  readonly textBytes: number
  /** Number of attachments in the value, as {@link BodySize} counts them. */
  readonly attachments: number
  /** True if the value is an empty object or an empty array. */
  readonly empty: boolean
  readonly inside: { readonly [name: string]: ScannedMember }
}

export type ScannedBody<Name extends string> = { readonly [N in Name]?: ScannedMember }

/** Returns a function that scans a body for the members of the plan. */
export const scanner = <Name extends string>(
  plan: ScanPlan<Name>
): ((body: Buffer) => Either.Either<ScannedBody<Name>, InvalidRequest>) => {
  const wanted = wantedOf(plan.members)
  const media = mediaOf(plan.media)
  const refusesNear = plan.caseSensitive !== true
  return (body) => {
    if (!isUtf8(body)) return Either.left(notJson("it is not UTF-8"))
    const found: Found = {}
    const scan = new Scan(body, media, refusesNear)
    return scan.root(wanted, found) ? Either.right(found as ScannedBody<Name>) : Either.left(scan.refusal())
  }
}

type Found = { [name: string]: ScannedMember }

interface Wanted {
  readonly names: MemberNames
  readonly members: ReadonlyArray<WantedMember>
}

interface WantedMember {
  readonly name: string
  readonly inside: Wanted | undefined
  readonly each: MemberNames | undefined
}

const wantedOf = (members: { readonly [name: string]: MemberPlan }): Wanted => ({
  names: new MemberNames(Object.keys(members)),
  members: Object.entries(members).map(([name, { inside, each }]) => ({
    name,
    inside: inside && wantedOf(inside),
    each: each === undefined ? undefined : new MemberNames([each])
  }))
})

class Scan {
  readonly #reader: JsonReader
  readonly #refusesNear: boolean
  #refusal: InvalidRequest | undefined

  constructor(body: Buffer, media: Media, refusesNear: boolean) {
    this.#refusesNear = refusesNear
    this.#reader = new JsonReader(body, new BodySize(media))
  }

  root(wanted: Wanted, found: Found): boolean {
    const reader = this.#reader
    const start = reader.skipSpace(0)
    if (reader.bytes[start] !== OPEN_OBJECT) {
      this.#refuse("The request body must be a JSON object.", null)
      return false
    }
    const end = this.#object(start, 1, wanted, found, "")
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

  #object(open: number, depth: number, wanted: Wanted, found: Found, path: string): number {
    const reader = this.#reader
    return reader.items(open, CLOSE_OBJECT, (at) => {
      const value = reader.name(at)
      if (value < 0) return -1
      const match = wanted.names.find(reader.bytes, at + 1, reader.nameEnd)
      if (match === NO_MATCH || (match < 0 && !this.#refusesNear)) return reader.value(value, depth, at + 1)
      const member = wanted.members[match < 0 ? nearMatch(match) : match]
      if (member === undefined) return -1
      const name = path + member.name
      if (match < 0) return this.#refuse(`The member name must be spelled exactly '${name}', in lower case.`, name)
      if (found[member.name] !== undefined) return this.#refuse(`'${name}' occurs more than once.`, name)
      return this.#member(at + 1, value, depth, member, found, name)
    })
  }

  #member(nameStart: number, at: number, depth: number, member: WantedMember, found: Found, path: string): number {
    const reader = this.#reader
    const { textBytes, attachments } = reader.size
    const inside: Found = {}
    const first = reader.bytes[at]
    const end =
      member.inside !== undefined && first === OPEN_OBJECT
        ? this.#object(at, depth + 1, member.inside, inside, `${path}.`)
        : member.each !== undefined && first === OPEN_ARRAY
          ? this.#elements(at, depth + 1, member.each, path)
          : reader.value(at, depth, nameStart)
    found[member.name] = {
      kind: kindOf(first),
      start: at,
      end,
      textBytes: reader.size.textBytes - textBytes,
      attachments: reader.size.attachments - attachments,
      empty: end === reader.skipSpace(at + 1) + 1,
      inside
    }
    return end
  }

  #elements(open: number, depth: number, required: MemberNames, path: string): number {
    const reader = this.#reader
    let index = -1
    return reader.items(open, CLOSE_ARRAY, (element) => {
      index++
      if (reader.bytes[element] !== OPEN_OBJECT) {
        return this.#refuse(`'${path}[${index}]' must be an object.`, `${path}[${index}]`)
      }
      let present = false
      const end = reader.items(element, CLOSE_OBJECT, (at) => {
        const value = reader.name(at)
        if (value < 0) return -1
        if (required.find(reader.bytes, at + 1, reader.nameEnd) === 0) present = reader.bytes[value] === QUOTE
        return reader.value(value, depth + 1, at + 1)
      })
      if (end < 0 || present) return end
      const param = `${path}[${index}].${required.names[0]}`
      return this.#refuse(`'${param}' is required and must be a string.`, param)
    })
  }
}

const notJson = (why: string): InvalidRequest =>
  new InvalidRequest({ message: `The request body is not valid JSON: ${why}.`, param: null })

const kindOf = (first: number | undefined): JsonKind => {
  switch (first) {
    case OPEN_OBJECT:
      return "object"
    case OPEN_ARRAY:
      return "array"
    case QUOTE:
      return "string"
    case 0x74:
    case 0x66:
      return "boolean"
    case 0x6e:
      return "null"
    default:
      return "number"
  }
}
