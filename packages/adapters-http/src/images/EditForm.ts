/**
 * Parses the multipart form of an image edit while the form arrives. A form contains text fields and at most one file,
 * in any order. The form is kept in memory and never written to a disk.
 *
 * Each field is checked as soon as it is complete. Therefore a form whose first field names an unsuitable model is
 * refused before its file is read.
 */
import { MIMEType } from "node:util"
import type { ModelCheck } from "@tollgate/application/images/ImageConnection"
import { ImageTooLarge, type UnsupportedEndpoint } from "@tollgate/domain/images/ImageErrors"
import { type FieldError, fieldOf, readField } from "@tollgate/domain/images/ImageFields"
import { InvalidRequest, type ModelNotFound, Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import * as Either from "effect/Either"
import * as Multipasta from "multipasta"
import { CollectedBody } from "../http/CollectedBody.ts"
import type { MemoryReservation } from "../http/MemoryReservation.ts"
import type { BodyConsumer } from "../http/RequestBody.ts"
import { FormDelimiters } from "./FormDelimiters.ts"
import { isFile, isFormData, nameOf } from "./FormPart.ts"

const MIB = 1024 * 1024
export const MAX_FORM_BYTES = 12 * MIB
export const MAX_SOURCE_BYTES = 10 * MIB
/** The maximum size of a text field in bytes, which is larger than the longest prompt. */
const MAX_FIELD_BYTES = 256 * 1024
const MAX_PARTS = 16

export type FormError = FieldError | ModelNotFound | UnsupportedEndpoint | ImageTooLarge | Overloaded

export interface ParsedForm {
  readonly texts: ReadonlyMap<string, string>
  readonly file: Buffer | undefined
}

/** A boundary of RFC 2046, section 5.1.1: at most 70 characters, of which the last is not a space. */
const BOUNDARY = /^[\w'()+,./:=? -]{0,69}[\w'()+,./:=?-]$/

/**
 * Returns the boundary that the content-type header declares. Fails unless the header declares a multipart form with a
 * valid boundary.
 */
export const boundaryOf = (contentType: string | undefined): Either.Either<string, InvalidRequest> => {
  const type = mimeType(contentType ?? "")
  if (type?.essence !== "multipart/form-data") {
    return Either.left(malformed("Send the image and its fields as 'multipart/form-data'."))
  }
  const boundary = type.params.get("boundary") ?? ""
  return BOUNDARY.test(boundary)
    ? Either.right(boundary)
    : Either.left(malformed("The content-type of the form must have a boundary of 1 to 70 characters of RFC 2046."))
}

const mimeType = (text: string): MIMEType | undefined => {
  try {
    return new MIMEType(text)
  } catch {
    return undefined
  }
}

export const formTooLarge = () => new ImageTooLarge({ message: `The form is larger than ${MAX_FORM_BYTES} bytes.` })

export class EditForm implements BodyConsumer<ParsedForm, FormError> {
  readonly #reservation: MemoryReservation
  readonly #checkModel: ModelCheck
  readonly #parser: Multipasta.Parser
  readonly #delimiters: FormDelimiters
  readonly #texts = new Map<string, string>()
  readonly #file = new CollectedBody()
  #files = 0
  #bytes = 0
  #error: FormError | undefined
  #complete = false
  /** The name of the part that is being parsed. */
  #part = ""

  constructor(boundary: string, reservation: MemoryReservation, checkModel: ModelCheck) {
    this.#reservation = reservation
    this.#checkModel = checkModel
    this.#parser = Multipasta.make({
      headers: { "content-type": `multipart/form-data; boundary="${boundary}"` },
      maxParts: MAX_PARTS,
      maxFieldSize: MAX_FIELD_BYTES,
      isFile: (info) => {
        this.#part = nameOf(info)
        this.#step(() => (hasRepeatedHeader(info) ? malformed("A part of the form repeats a header.") : undefined))
        return isFile(info)
      },
      onField: (info, value) => this.#step(() => this.#addText(info, value)),
      onFile: (info) => this.#beginFile(info),
      onError: (error) => this.#step(() => errorOf(error, this.#part)),
      onDone: () => {
        this.#complete = true
      }
    })
    this.#delimiters = new FormDelimiters(boundary, (piece) => this.#write(piece))
  }

  take(chunk: Buffer): FormError | undefined {
    this.#bytes += chunk.length
    if (this.#bytes > MAX_FORM_BYTES) return formTooLarge()
    if (!this.#reservation.take(chunk.length)) return new Overloaded({ retryAfterSeconds: 1 })
    if (!this.#delimiters.take(chunk)) this.#error ??= malformed("The form is malformed.")
    return this.#error
  }

  end(): Either.Either<ParsedForm, FormError> {
    if (this.#error !== undefined) return Either.left(this.#error)
    if (!this.#complete) return Either.left(malformed("The form ends before its closing boundary."))
    const file = this.#files === 0 ? undefined : this.#file.whole()
    return Either.right({ texts: this.#texts, file })
  }

  /**
   * Passes a piece of the form to the parser, and converts an exception to an error. The parser throws for an invalid
   * percent-escape in a file name.
   */
  #write(piece: Buffer): void {
    if (this.#error !== undefined || this.#complete) return
    try {
      this.#parser.write(piece)
    } catch {
      this.#error ??= malformed("The form is malformed.")
    }
  }

  /** Runs a check and stores its error. Does nothing after the first error or after the end of the form. */
  #step(check: () => FormError | undefined): void {
    if (this.#error === undefined && !this.#complete) this.#error = check()
  }

  #addText(info: Multipasta.PartInfo, value: Uint8Array): FormError | undefined {
    const name = nameOf(info)
    if (!isFormData(info)) return malformed("A part of the form is not form-data.")
    if (isTransferEncoded(info)) return encoded()
    const text = textOf(value)
    if (text === undefined) return new InvalidRequest({ message: `'${name}' is not UTF-8.`, param: name })
    const read = readField("edit", name, text)
    if (Either.isLeft(read)) return read.left
    if (this.#texts.has(name)) return new InvalidRequest({ message: `'${name}' is given more than once.`, param: name })
    this.#texts.set(name, text)
    if (name !== "model") return undefined
    const checked = this.#checkModel(text)
    return Either.isLeft(checked) ? checked.left : undefined
  }

  #beginFile(info: Multipasta.PartInfo): (bytes: Uint8Array | null) => void {
    this.#step(() => this.#refuseFile(info))
    let ended = false
    return (bytes) =>
      this.#step(() => {
        if (ended) return malformed("The form is malformed.")
        if (bytes === null) ended = true
        return bytes === null ? undefined : this.#appendToFile(bytes)
      })
  }

  #refuseFile(info: Multipasta.PartInfo): FormError | undefined {
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

  #appendToFile(bytes: Uint8Array): FormError | undefined {
    this.#file.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))
    if (this.#file.bytes > MAX_SOURCE_BYTES) {
      return new ImageTooLarge({ message: `'image' is larger than ${MAX_SOURCE_BYTES} bytes.` })
    }
    return undefined
  }
}

const hasRepeatedHeader = ({ headers }: Multipasta.PartInfo): boolean => Object.values(headers).some(Array.isArray)

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

const encoded = () => malformed("Send the parts of the form without content-transfer-encoding.")
const malformed = (message: string) => new InvalidRequest({ message, param: null })

const errorOf = (error: Multipasta.MultipartError, part: string): InvalidRequest => {
  if (error._tag !== "ReachedLimit") return malformed("The form is malformed.")
  return error.limit === "MaxParts"
    ? malformed(`The form has more than ${MAX_PARTS} parts.`)
    : new InvalidRequest({ message: `'${part}' is longer than ${MAX_FIELD_BYTES} bytes.`, param: part })
}
