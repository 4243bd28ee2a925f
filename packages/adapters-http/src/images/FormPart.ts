/**
 * What the head of a part of a form says of it.
 *
 * Files are called what people call them, in any script and with any punctuation, and clients send those names as they
 * are, in UTF-8. The parser understands no disposition with a character beyond U+00FF in it, so such a one is read here;
 * the name of the file itself matters to nobody.
 */
import * as Multipasta from "multipasta"

/** Official clients send lists of files as `image[]`, also lists of one. */
export const nameOf = (part: Multipasta.PartInfo): string => {
  const name = isUnread(part) ? (NAME.exec(withoutFilename(part)) ?? [])[1] : part.name
  return name === "image[]" ? "image" : (name ?? "")
}

export const isFormData = (part: Multipasta.PartInfo): boolean =>
  isUnread(part) ? FORM_DATA.test(withoutFilename(part)) : part.contentDisposition === "form-data"

export const isFile = (part: Multipasta.PartInfo): boolean =>
  Multipasta.defaultIsFile(part) || (isUnread(part) && FILENAME.test(dispositionOf(part)))

const FORM_DATA = /^\s*form-data\s*;/i
const NAME = /;\s*name="([^"\\]*)"/i
const FILENAME = /;\s*filename\*?="(?:[^"\\]|\\.)*"/i

const isUnread = (part: Multipasta.PartInfo): boolean => part.contentDisposition === "" && dispositionOf(part) !== ""

const dispositionOf = ({ headers }: Multipasta.PartInfo): string => String(headers["content-disposition"] ?? "")

/** A file may be called anything, also `"; name="prompt`. */
const withoutFilename = (part: Multipasta.PartInfo): string => dispositionOf(part).replace(FILENAME, "")
