/**
 * The members of a request body that a scan has found: reads their values, measures them, and replaces them without
 * changing any other byte.
 */
import { InvalidRequest } from "@tollgate/domain/inference/InferenceErrors"
import type { ScannedMember } from "./JsonScan.ts"

type Found = ScannedMember | undefined

/** Reads values. The first value of a wrong type becomes the fault of the body; `null` reads as absent. */
export class MemberValues {
  fault: InvalidRequest | undefined
  readonly #body: Buffer

  constructor(body: Buffer) {
    this.#body = body
  }

  /** A required string that is not empty. */
  name(member: Found, param: string): string {
    const name = member?.kind === "string" ? JSON.parse(this.#text(member)) : ""
    if (name === "") this.#refuse(param, "must be a string that is not empty")
    return name
  }

  /** A required array that is not empty. */
  filledArray(member: Found, param: string): void {
    if (member?.kind !== "array" || member.empty) this.#refuse(param, "must be an array that is not empty")
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

  /** A required integer of at least 1. */
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

/** The text and the attachments of the members that a model reads. */
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

/** Replaces the bytes from `start` up to `end` by `text`; an empty range is an insertion. */
export interface Splice {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** The splices must not overlap; all other bytes stay as they are. */
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
