/**
 * Reads from the headers of a form part its name, and whether it is a file or form-data.
 *
 * Many clients send file names unescaped in UTF-8, so a file name can contain any character. The form parser rejects a
 * `content-disposition` header with a character above U+00FF, so this module parses such a header. The file name itself
 * is not used.
 */
import * as Multipasta from "multipasta"

/** Returns the name of a part. The name `image[]`, which official clients use for a list of files, becomes `image`. */
export const nameOf = (part: Multipasta.PartInfo): string => {
  const name = isUnparsed(part) ? (NAME.exec(withoutFilename(part)) ?? [])[1] : part.name
  return name === "image[]" ? "image" : (name ?? "")
}

export const isFormData = (part: Multipasta.PartInfo): boolean =>
  isUnparsed(part) ? FORM_DATA.test(withoutFilename(part)) : part.contentDisposition === "form-data"

export const isFile = (part: Multipasta.PartInfo): boolean =>
  Multipasta.defaultIsFile(part) || (isUnparsed(part) && FILENAME.test(dispositionOf(part)))

const FORM_DATA = /^\s*form-data\s*;/i
const NAME = /;\s*name="([^"\\]*)"/i
const FILENAME = /;\s*filename\*?="(?:[^"\\]|\\.)*"/i

const isUnparsed = (part: Multipasta.PartInfo): boolean => part.contentDisposition === "" && dispositionOf(part) !== ""

const dispositionOf = ({ headers }: Multipasta.PartInfo): string => String(headers["content-disposition"] ?? "")

/** Returns the header without the file name, because a file name can contain any text, even `"; name="prompt`. */
const withoutFilename = (part: Multipasta.PartInfo): string => dispositionOf(part).replace(FILENAME, "")
