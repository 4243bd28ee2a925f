/**
 * Values of the members a scan has found. The first of a wrong type is remembered as the fault of the whole body;
 * `null` reads as absent.
 */
import { InvalidRequest } from "@tollgate/domain/inference/InferenceErrors"
import type { ScannedMember } from "./JsonScan.ts"

type Found = ScannedMember | undefined

export class MemberValues {
  fault: InvalidRequest | undefined
  readonly #body: Buffer

  constructor(body: Buffer) {
    this.#body = body
  }

  /** A string that must be there and not be empty. */
  name(member: Found, param: string): string {
    const name = member?.kind === "string" ? JSON.parse(this.#text(member)) : ""
    if (name === "") this.#refuse(param, "must be a string that is not empty")
    return name
  }

  /** An array that must be there and not be empty. */
  filledArray(member: Found, param: string): void {
    if (member?.kind !== "array" || member.empty) this.#refuse(param, "must be an array that is not empty")
  }

  object(member: Found, param: string): void {
    if (isThere(member) && member.kind !== "object") this.#refuse(param, "must be an object")
  }

  flag(member: Found, param: string): boolean {
    if (!isThere(member)) return false
    if (member.kind !== "boolean") this.#refuse(param, "must be true or false")
    return this.#text(member) === "true"
  }

  integer(member: Found, param: string): number | undefined {
    if (!isThere(member)) return undefined
    const value = member.kind === "number" ? JSON.parse(this.#text(member)) : undefined
    if (Number.isInteger(value)) return value
    this.#refuse(param, "must be an integer")
    return undefined
  }

  /** An integer of at least 1 that must be there. */
  count(member: Found, param: string): number {
    const value = isThere(member) ? this.integer(member, param) : 0
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

const isThere = (member: Found): member is ScannedMember => member !== undefined && member.kind !== "null"
