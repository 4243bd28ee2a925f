/**
 * The fuzz target for the reader of image edit forms. An input is the content type, a line break, and the form. The
 * result must not depend on the chunk boundaries, and the parser of Node.js must read the same fields from a form that
 * is accepted.
 */
import { MemoryReservation } from "@tollgate/adapters-http/http/MemoryReservation"
import { boundaryOf, EditForm, type FormError, type ParsedForm } from "@tollgate/adapters-http/images/EditForm"
import { RelayCounters } from "@tollgate/adapters-http/inference/relay/RelayMetrics"
import { Either, FastCheck } from "effect"
import { aForm, aPng, BOUNDARY, image, model, type Part, prompt } from "../../adapters-http/images/Pictures.ts"
import { piecesOf } from "../Mutation.ts"
import { type FuzzTarget, must, mustEqual, pure } from "../Target.ts"

export type ReadForm = (
  contentType: string,
  pieces: ReadonlyArray<Buffer>
) => Either.Either<ParsedForm, Pick<FormError, "_tag">>

export const readForm: ReadForm = (contentType, pieces) => {
  const boundary = boundaryOf(contentType)
  if (Either.isLeft(boundary)) return Either.left(boundary.left)
  const reservation = new MemoryReservation(new RelayCounters().imageMemory, 1024 * 1024)
  const form = new EditForm(boundary.right, reservation, () => Either.void)
  for (const piece of pieces) {
    const error = form.take(piece)
    if (error !== undefined) return Either.left(error)
  }
  return form.end()
}

const check =
  (read: ReadForm) =>
  async (input: Buffer): Promise<void> => {
    const end = input.indexOf("\n")
    const contentType = input.subarray(0, Math.max(0, end)).toString("latin1").trim()
    const form = input.subarray(end + 1)
    const whole = read(contentType, [form])
    for (const variant of [0, 1, 2]) {
      mustEqual(shown(read(contentType, piecesOf(form, variant))), shown(whole), "the result of several chunks")
    }
    if (Either.isLeft(whole)) return
    const { texts, file } = whole.right
    const reference = await referenceForm(contentType, form)
    if (reference === undefined) return
    mustEqual(withoutMarks([...texts]), withoutMarks(reference.texts), "the text fields")
    must(file === undefined ? reference.files.length === 0 : reference.files.length === 1, "the number of files")
    must(file === undefined || reference.files[0]?.equals(file) === true, "the content of the file")
  }

/** Removes leading byte order marks: the form reader keeps them, and the parser of Node.js drops one or two of them. */
const withoutMarks = (texts: ReadonlyArray<readonly [string, unknown]>) =>
  texts.map(([name, value]) => [name, String(value).replace(/^\uFEFF+/, "")])

const shown = (result: ReturnType<ReadForm>): unknown =>
  Either.isLeft(result) ? "refused" : [[...result.right.texts], result.right.file?.toString("latin1") ?? null]

const referenceForm = async (contentType: string, form: Buffer) => {
  try {
    const headers = { "content-type": contentType }
    const entries = [...(await new Response(new Uint8Array(form), { headers }).formData()).entries()]
    const files = entries.flatMap(([, value]) => (typeof value === "string" ? [] : [value]))
    return {
      texts: entries.filter(([, value]) => typeof value === "string"),
      files: await Promise.all(files.map(async (file) => Buffer.from(await file.arrayBuffer())))
    }
  } catch {
    return undefined
  }
}

const text = (name: string, value: string): Part => ({ name, value })
const part = FastCheck.oneof(
  FastCheck.constantFrom<Part>(
    ...[model, prompt, image(), image(aPng(), "image[]"), text("n", "1"), text("size", "auto"), text("mask", "x")],
    ...[text("prompt", ""), text("prompt", `--${BOUNDARY}`), text("prompt", "-----"), text("stream", "false")]
  ),
  FastCheck.fullUnicodeString({ maxLength: 12 }).map((value) => text("prompt", value)),
  FastCheck.fullUnicodeString({ maxLength: 12 }).map((filename) => ({ ...image(), filename })),
  FastCheck.constantFrom("Content-Transfer-Encoding: base64", "Content-Type: text/plain; charset=utf-16", "X: y").map(
    (header) => ({ ...prompt, headers: [header] })
  )
)
const contentType = FastCheck.oneof(
  { weight: 8, arbitrary: FastCheck.constant(`multipart/form-data; boundary="${BOUNDARY}"`) },
  {
    weight: 1,
    arbitrary: FastCheck.constantFrom(
      ...[`Multipart/Form-Data;boundary=${BOUNDARY}`, `multipart/form-data; charset=utf-8; boundary=${BOUNDARY}`],
      ...["multipart/form-data", "multipart/form-data; boundary=x", 'multipart/form-data; boundary=""']
    )
  }
)

export const editFormTarget = (read: ReadForm): FuzzTarget => ({
  name: "edit-forms",
  grammar: FastCheck.tuple(contentType, FastCheck.array(part, { maxLength: 4 })).map(([type, parts]) =>
    Buffer.concat([Buffer.from(`${type}\n`), aForm(...parts)])
  ),
  words: [
    ...[
      `--${BOUNDARY}`,
      `\r\n--${BOUNDARY}\r\n`,
      `\r\n--${BOUNDARY}--\r\n`,
      "--",
      "\r\n\r\n",
      "Content-Disposition: form-data;"
    ],
    ...['; name="prompt"', '; name="image"', '; filename="a.png"', "; filename*=utf-8''%E0", "form-data", "boundary="]
  ],
  testInputs: 250,
  open: pure(check(read))
})
