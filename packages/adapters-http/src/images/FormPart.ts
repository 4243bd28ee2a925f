/**
 * The headers of one part of a form: its name, and whether it is a file.
 *
 * File names contain any script and any punctuation, and clients send them unescaped in UTF-8. The parser rejects a
 * `content-disposition` with a character above U+00FF, so that one is parsed here. The file name itself is not used.
 */
import * as Multipasta from "multipasta"

/** Official clients send a list of files as `image[]`, also a list of one. */
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

/** A file name may contain anything, also `"; name="prompt`. */
const withoutFilename = (part: Multipasta.PartInfo): string => dispositionOf(part).replace(FILENAME, "")
