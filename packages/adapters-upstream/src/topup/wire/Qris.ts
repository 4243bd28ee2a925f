/**
 * Validates the text of a QRIS code (an Indonesian payment QR code). The text is a sequence of fields. Each field
 * consists of a two-digit tag, a two-digit length and a value. The last field contains a checksum.
 *
 *     00 02 01 | 01 02 12 | 26 ... merchant account ... | 54 06 105000 | ... | 63 04 ABCD
 *
 * The gateway validates the text that a provider returns, except the text of a sandbox. A code that cannot be scanned
 * or that has a wrong amount must not be shown to a payer.
 */
import type { Idr } from "@tollgate/domain/money/Idr"
import { idrOf } from "./WireAmounts.ts"

/** Returns the first fault of the QRIS text of a payment with the amount `total`; `undefined` if the text is valid. */
export const faultOf = (text: string, total: Idr): string | undefined => {
  const fields = fieldsOf(text)
  if (fields === undefined) return "its field lengths are invalid"
  const tags = fields.map(([tag]) => tag)
  if (new Set(tags).size !== tags.length) return "a field occurs twice"
  if (tags[0] !== "00" || tags.at(-1) !== CHECKSUM_TAG)
    return "it does not begin with its version and end with its checksum"
  const values = new Map(fields)
  // The standard (EMVCo) writes the checksum in upper case. Some providers can write the same number in lower case.
  const checksum = checksumOf(text.slice(0, -CHECKSUM_DIGITS))
  if (values.get(CHECKSUM_TAG)?.toLowerCase() !== checksum.toLowerCase()) return "its checksum is wrong"
  for (const [tag, form] of FORMS) {
    const value = values.get(tag)
    if (value === undefined || !form.test(value)) return `field ${tag} is missing or wrong`
  }
  if (!tags.some((tag) => tag >= "26" && tag <= "51")) return "it contains no merchant account"
  const amount = values.get("54")
  if (amount === undefined || idrOf(amount) !== total) return "its amount differs from the order"
  // The value 01 of field 55 lets the payer add a tip. The other values add a fee to the amount.
  if (values.has("55") && values.get("55") !== "01") return "it adds a fee"
  return undefined
}

/**
 * Returns the checksum (CRC-16/CCITT-FALSE) of a text as four uppercase hexadecimal digits. The text must include the
 * tag and the length of the checksum field, but not its value.
 */
export const checksumOf = (text: string): string => {
  let sum = 0xffff
  for (const byte of Buffer.from(text, "utf8")) {
    sum ^= byte << 8
    for (let bit = 0; bit < 8; bit++) sum = sum & 0x8000 ? ((sum << 1) ^ 0x1021) & 0xffff : (sum << 1) & 0xffff
  }
  return sum.toString(16).toUpperCase().padStart(CHECKSUM_DIGITS, "0")
}

const CHECKSUM_TAG = "63"
const CHECKSUM_DIGITS = 4

/**
 * The form of these required fields: version, static or dynamic code, merchant category, currency (rupiah), country,
 * merchant name and city.
 */
const FORMS: ReadonlyArray<readonly [tag: string, form: RegExp]> = [
  ["00", /^01$/],
  ["01", /^1[12]$/],
  ["52", /^\d{4}$/],
  ["53", /^360$/],
  ["58", /^ID$/],
  ["59", /./],
  ["60", /./]
]

const fieldsOf = (text: string): ReadonlyArray<readonly [tag: string, value: string]> | undefined => {
  const fields: Array<readonly [string, string]> = []
  let at = 0
  while (at < text.length) {
    const head = /^(\d\d)(\d\d)$/.exec(text.slice(at, at + 4))
    if (head === null) return undefined
    const [, tag = "", length = ""] = head
    const end = at + 4 + Number(length)
    if (end > text.length) return undefined
    fields.push([tag, text.slice(at + 4, end)])
    at = end
  }
  return fields
}
