/**
 * Reads the values of the body members that the scanner (`JsonScan.ts`) has found, adds up their sizes, and replaces
 * members without changing any other byte of the body.
 */
import { InvalidRequest } from "@tollgate/domain/inference/InferenceErrors"
import type { ScannedMember } from "./JsonScan.ts"

type Found = ScannedMember | undefined

/** The maximum size in bytes of a name, such as the name of a model, with its quotes and escapes. */
const MAX_NAME_BYTES = 64 * 1024

/** Reads member values. `fault` is the error of the first invalid value. `null` counts as absent. */
export class MemberValues {
  fault: InvalidRequest | undefined
  readonly #body: Buffer

  constructor(body: Buffer) {
    this.#body = body
  }

  /** Reads a required non-empty string. */
  name(member: Found, param: string): string {
    if (member !== undefined && member.end - member.start > MAX_NAME_BYTES) {
      this.#refuse(param, `must have at most ${MAX_NAME_BYTES} bytes`)
      return ""
    }
    const name = member?.type === "string" ? JSON.parse(this.#text(member)) : ""
    if (name === "") this.#refuse(param, "must be a non-empty string")
    return name
  }

  /** Checks a required non-empty array. */
  filledArray(member: Found, param: string): void {
    if (member?.type !== "array" || member.empty) this.#refuse(param, "must be a non-empty array")
  }

  object(member: Found, param: string): void {
    if (isPresent(member) && member.type !== "object") this.#refuse(param, "must be an object")
  }

  flag(member: Found, param: string): boolean {
    if (!isPresent(member)) return false
    if (member.type !== "boolean") this.#refuse(param, "must be true or false")
    return this.#text(member) === "true"
  }

  integer(member: Found, param: string): number | undefined {
    if (!isPresent(member)) return undefined
    const value = member.type === "number" ? JSON.parse(this.#text(member)) : undefined
    if (Number.isInteger(value)) return value
    this.#refuse(param, "must be an integer")
    return undefined
  }

  /** Reads a required integer of at least 0. */
  count(member: Found, param: string): number {
    const value = isPresent(member) ? this.integer(member, param) : -1
    if (value !== undefined && value < 0) this.#refuse(param, "must be an integer of at least 0")
    return value ?? 0
  }

  #text({ start, end }: ScannedMember): string {
    return this.#body.toString("utf8", start, end)
  }

  #refuse(param: string, must: string): void {
    this.fault ??= new InvalidRequest({ message: `'${param}' ${must}.`, param })
  }
}

/** Returns the limit of output tokens for the hold. Some providers ignore a limit below 1, so it counts as no limit. */
export const outputLimit = (given: number | undefined): number | undefined =>
  given !== undefined && given < 1 ? undefined : given

export const isPresent = (member: Found): member is ScannedMember => member !== undefined && member.type !== "null"

export interface MembersSize {
  readonly textBytes: number
  readonly structureBytes: number
  readonly attachments: number
  readonly hasUnsizedContent: boolean
}

/** Returns the total size of these members, and whether they have unsized content. */
export const sizeOfMembers = (members: ReadonlyArray<Found>): MembersSize => {
  let textBytes = 0
  let structureBytes = 0
  let attachments = 0
  let unsized = 0
  for (const member of members) {
    if (member === undefined) continue
    textBytes += member.textBytes
    structureBytes += member.structureBytes
    attachments += member.attachments
    unsized += member.unsized
  }
  return { textBytes, structureBytes, attachments, hasUnsizedContent: unsized > 0 }
}

/**
 * A replacement of the bytes from `start` (inclusive) to `end` (exclusive) by `text`. An empty range inserts `text`.
 */
export interface Splice {
  readonly start: number
  readonly end: number
  readonly text: string
}

/**
 * Applies the replacements, which must not overlap. All other bytes stay unchanged. The new body is not a part of the
 * buffer pool of Node.js. Otherwise a stream, which keeps its body, would keep a whole block of the pool in memory.
 */
export const splice = (body: Buffer, splices: ReadonlyArray<Splice>): Buffer => {
  const inOrder = sorted(splices)
  let length = body.length
  for (const { start, end, text } of inOrder) length += Buffer.byteLength(text) - (end - start)
  const spliced = Buffer.allocUnsafeSlow(length)
  let copiedTo = 0
  let at = 0
  for (const { start, end, text } of inOrder) {
    at += body.copy(spliced, at, copiedTo, start)
    at += spliced.write(text, at)
    copiedTo = end
  }
  body.copy(spliced, at, copiedTo)
  return spliced
}

/** Returns the replacements that change the spliced body back to `body`. The replaced ranges must be valid UTF-8. */
export const undoing = (body: Buffer, splices: ReadonlyArray<Splice>): ReadonlyArray<Splice> => {
  let shift = 0
  return sorted(splices).map(({ start, end, text }) => {
    const at = start + shift
    const length = Buffer.byteLength(text)
    shift += length - (end - start)
    return { start: at, end: at + length, text: body.toString("utf8", start, end) }
  })
}

const sorted = (splices: ReadonlyArray<Splice>): ReadonlyArray<Splice> =>
  splices.length === 1 ? splices : [...splices].sort((a, b) => a.start - b.start)
