/**
 * Works on the members of a request body that {@link scanner} has found: reads their values, sums their sizes, and
 * replaces them without changing any other byte of the body.
 */
import { InvalidRequest } from "@tollgate/domain/inference/InferenceErrors"
import type { ScannedMember } from "./JsonScan.ts"

type Found = ScannedMember | undefined

/** Reads values. The first value with a wrong type is recorded in `fault`; `null` counts as absent. */
export class MemberValues {
  fault: InvalidRequest | undefined
  readonly #body: Buffer

  constructor(body: Buffer) {
    this.#body = body
  }

  /** Reads a required non-empty string. */
  name(member: Found, param: string): string {
    const name = member?.kind === "string" ? JSON.parse(this.#text(member)) : ""
    if (name === "") this.#refuse(param, "must be a non-empty string")
    return name
  }

  /** Checks a required non-empty array. */
  filledArray(member: Found, param: string): void {
    if (member?.kind !== "array" || member.empty) this.#refuse(param, "must be a non-empty array")
  }

  object(member: Found, param: string): void {
    if (isPresent(member) && member.kind !== "object") this.#refuse(param, "must be an object")
  }

  flag(member: Found, param: string): boolean {
    if (!isPresent(member)) return false
    if (member.kind !== "boolean") this.#refuse(param, "must be true or false")
    return this.#text(member) === "true"
  }

  integer(member: Found, param: string): number | undefined {
    if (!isPresent(member)) return undefined
    const value = member.kind === "number" ? JSON.parse(this.#text(member)) : undefined
    if (Number.isInteger(value)) return value
    this.#refuse(param, "must be an integer")
    return undefined
  }

  /** Reads a required integer of at least 1. */
  count(member: Found, param: string): number {
    const value = isPresent(member) ? this.integer(member, param) : 0
    if (value !== undefined && value < 1) this.#refuse(param, "must be an integer of at least 1")
    return value ?? 0
  }

  #text({ start, end }: ScannedMember): string {
    return this.#body.toString("utf8", start, end)
  }

  #refuse(param: string, must: string): void {
    this.fault ??= new InvalidRequest({ message: `'${param}' ${must}.`, param })
  }
}

const isPresent = (member: Found): member is ScannedMember => member !== undefined && member.kind !== "null"

/** Returns the text bytes and the number of attachments of these members together. */
export const sizeOfMembers = (
  members: ReadonlyArray<Found>
): { readonly textBytes: number; readonly attachments: number } => {
  let textBytes = 0
  let attachments = 0
  for (const member of members) {
    textBytes += member?.textBytes ?? 0
    attachments += member?.attachments ?? 0
  }
  return { textBytes, attachments }
}

/** Replacement of the bytes from `start` up to, not including, `end` by `text`; an empty range inserts `text`. */
export interface Splice {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** Applies the splices, which must not overlap; all other bytes stay unchanged. */
export const splice = (body: Buffer, splices: ReadonlyArray<Splice>): Buffer => {
  const inOrder = splices.length === 1 ? splices : [...splices].sort((a, b) => a.start - b.start)
  const parts: Array<Buffer> = []
  let copiedTo = 0
  for (const { start, end, text } of inOrder) {
    parts.push(body.subarray(copiedTo, start), Buffer.from(text))
    copiedTo = end
  }
  parts.push(body.subarray(copiedTo))
  return Buffer.concat(parts)
}
