/**
 * The form of an edit, read as it comes: texts and exactly one file, in any order, in memory only.
 *
 * Each field is judged when it is whole, and whether the model can edit is asked as soon as it is named, so that no file
 * is read for nothing where the model comes first.
 */
import type { Capable } from "@tollgate/application/images/ImageConnection"
import { ImageTooLarge, type UnsupportedEndpoint } from "@tollgate/domain/images/ImageErrors"
import { type FieldFault, fieldOf, readField } from "@tollgate/domain/images/ImageFields"
import { InvalidRequest, type ModelNotFound, Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import * as Either from "effect/Either"
import * as Multipasta from "multipasta"
import type { MemoryReservation } from "../http/MemoryReservation.ts"
import type { BodyConsumer } from "../http/RequestBody.ts"
import { isFile, isFormData, nameOf } from "./FormPart.ts"

const MIB = 1024 * 1024
export const FORM_BYTES = 12 * MIB
export const SOURCE_BYTES = 10 * MIB
/** The longest prompt, and some. */
const FIELD_BYTES = 256 * 1024
const PARTS = 16
const BOUNDARY_CHARACTERS = 70

/** A closing delimiter has as many hyphens at its end, at most. */
const HYPHENS = BOUNDARY_CHARACTERS + 4
const HYPHEN = 0x2d

export type FormFault = FieldFault | ModelNotFound | UnsupportedEndpoint | ImageTooLarge | Overloaded

export interface ReadForm {
  readonly texts: ReadonlyMap<string, string>
  readonly file: Buffer | undefined
}

const FORM_TYPE = /^\s*multipart\/form-data\s*(?:;|$)/i
const BOUNDARY = /;\s*boundary=(?:"([^"]+)"|([^\s;"]+))/i

/** What the head says of the form. */
export const formFault = (contentType: string | undefined): InvalidRequest | undefined => {
  if (contentType === undefined || !FORM_TYPE.test(contentType)) {
    return malformed("Send the image and its fields as 'multipart/form-data'.")
  }
  const [, quoted, bare] = BOUNDARY.exec(contentType) ?? []
  const boundary = quoted ?? bare ?? ""
  return boundary.length < 1 || boundary.length > BOUNDARY_CHARACTERS
    ? malformed(`The content-type of the form must name its boundary, of 1 to ${BOUNDARY_CHARACTERS} characters.`)
    : undefined
}

export const formTooLarge = () => new ImageTooLarge({ message: `The form is larger than ${FORM_BYTES} bytes.` })

export class EditForm implements BodyConsumer<ReadForm, FormFault> {
  readonly #reservation: MemoryReservation
  readonly #capable: Capable
  readonly #parser: Multipasta.Parser
  readonly #texts = new Map<string, string>()
  readonly #file: Array<Uint8Array> = []
  #fileBytes = 0
  #files = 0
  #bytes = 0
  #fault: FormFault | undefined
  #complete = false
  /** The part that is being read. */
  #part = ""
  #held: Buffer = Buffer.alloc(0)

  constructor(contentType: string, reservation: MemoryReservation, capable: Capable) {
    this.#reservation = reservation
    this.#capable = capable
    this.#parser = Multipasta.make({
      headers: { "content-type": contentType },
      maxParts: PARTS,
      maxFieldSize: FIELD_BYTES,
      isFile: (info) => {
        this.#part = nameOf(info)
        return isFile(info)
      },
      onField: (info, value) => this.#step(() => this.#text(info, value)),
      onFile: (info) => this.#begin(info),
      onError: (error) => this.#step(() => faultOf(error, this.#part)),
      onDone: () => {
        this.#complete = true
      }
    })
  }

  take(piece: Buffer): FormFault | undefined {
    this.#bytes += piece.length
    if (this.#bytes > FORM_BYTES) return formTooLarge()
    if (!this.#reservation.take(piece.length)) return new Overloaded({ retryAfterSeconds: 1 })
    const given = this.#held.length === 0 ? piece : Buffer.concat([this.#held, piece])
    // The parser must see the two hyphens that close a form at once.
    const whole = given.length - hyphensAtEnd(given)
    this.#held = given.subarray(whole)
    return this.#write(given.subarray(0, whole))
  }

  end(): Either.Either<ReadForm, FormFault> {
    this.#write(this.#held)
    this.#guarded(() => this.#parser.end())
    if (this.#fault !== undefined) return Either.left(this.#fault)
    if (!this.#complete) return Either.left(malformed("The form ends before its closing boundary."))
    const file = this.#files === 0 ? undefined : Buffer.concat(this.#file, this.#fileBytes)
    return Either.right({ texts: this.#texts, file })
  }

  #write(bytes: Buffer): FormFault | undefined {
    if (bytes.length > 0 && this.#fault === undefined && !this.#complete) {
      this.#guarded(() => this.#parser.write(bytes))
    }
    return this.#fault
  }

  /** The parser throws at some escapes, and tells of parts whose head it has not understood. */
  #guarded(parse: () => void): void {
    try {
      parse()
    } catch {
      this.#fault ??= malformed("The form is malformed.")
    }
  }

  /** The first fault counts; nothing after the end does. */
  #step(judge: () => FormFault | undefined): void {
    if (this.#fault === undefined && !this.#complete) this.#fault = judge()
  }

  #text(info: Multipasta.PartInfo, value: Uint8Array): FormFault | undefined {
    const name = nameOf(info)
    if (!isFormData(info)) return malformed("A part of the form is no form-data.")
    if (isTransferEncoded(info)) return encoded()
    const text = textOf(value)
    if (text === undefined) return new InvalidRequest({ message: `'${name}' is not UTF-8.`, param: name })
    const read = readField("edit", name, text)
    if (Either.isLeft(read)) return read.left
    if (this.#texts.has(name)) return new InvalidRequest({ message: `'${name}' is given more than once.`, param: name })
    this.#texts.set(name, text)
    if (name !== "model") return undefined
    const capable = this.#capable(text)
    return Either.isLeft(capable) ? capable.left : undefined
  }

  #begin(info: Multipasta.PartInfo): (bytes: Uint8Array | null) => void {
    this.#step(() => this.#refuseFile(info))
    let ended = false
    return (bytes) =>
      this.#step(() => {
        if (ended) return malformed("The form is malformed.")
        if (bytes === null) ended = true
        return bytes === null ? undefined : this.#fileGoesOn(bytes)
      })
  }

  #refuseFile(info: Multipasta.PartInfo): FormFault | undefined {
    const name = nameOf(info)
    if (name !== "image") {
      const field = fieldOf("edit", name)
      if (Either.isLeft(field)) return field.left
      const read = readField("edit", name, "")
      if (Either.isLeft(read) && read.left._tag === "UnsupportedParameter") return read.left
      return new InvalidRequest({ message: `'${name}' must be sent as text, not as a file.`, param: name })
    }
    if (isTransferEncoded(info)) return encoded()
    this.#files += 1
    return this.#files > 1 ? new InvalidRequest({ message: "Send exactly one 'image'.", param: "image" }) : undefined
  }

  #fileGoesOn(bytes: Uint8Array): FormFault | undefined {
    this.#fileBytes += bytes.length
    if (this.#fileBytes > SOURCE_BYTES) {
      return new ImageTooLarge({ message: `'image' is larger than ${SOURCE_BYTES} bytes.` })
    }
    this.#file.push(bytes)
    return undefined
  }
}

const isTransferEncoded = ({ headers }: Multipasta.PartInfo): boolean =>
  !/^\s*(?:binary|7bit|8bit)?\s*$/i.test(String(headers["content-transfer-encoding"] ?? ""))

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const textOf = (bytes: Uint8Array): string | undefined => {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

const hyphensAtEnd = (bytes: Buffer): number => {
  let count = 0
  while (count < bytes.length && bytes[bytes.length - 1 - count] === HYPHEN) {
    count += 1
    if (count > HYPHENS) return 0
  }
  return count
}

const encoded = () => malformed("Send the parts of the form as they are, without content-transfer-encoding.")
const malformed = (message: string) => new InvalidRequest({ message, param: null })

const faultOf = (error: Multipasta.MultipartError, part: string): InvalidRequest => {
  if (error._tag !== "ReachedLimit") return malformed("The form is malformed.")
  return error.limit === "MaxParts"
    ? malformed(`The form has more than ${PARTS} parts.`)
    : new InvalidRequest({ message: `'${part}' is longer than ${FIELD_BYTES} bytes.`, param: part })
}
