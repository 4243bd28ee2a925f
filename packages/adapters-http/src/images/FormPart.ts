/**
 * Reads the headers of one form part: the part's name, and whether the part is a file.
 *
 * File names may contain any script and punctuation, and clients send them unescaped in UTF-8. The parser rejects a
 * `content-disposition` with a character above U+00FF, so such a header is parsed here. The file name itself is not
 * used.
 */
import * as Multipasta from "multipasta"

/** Returns the name of a part. Official clients send a list of files, even with one file, as `image[]`. */
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

/** Removes the file name from the header: a file name may contain any text, even `"; name="prompt`. */
const withoutFilename = (part: Multipasta.PartInfo): string => dispositionOf(part).replace(FILENAME, "")
