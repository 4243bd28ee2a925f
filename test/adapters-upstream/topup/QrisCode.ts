/**
 * Creates valid and invalid QRIS texts for tests.
 */

type Fields = { readonly [tag: string]: string | undefined }

const PROPER: Fields = {
  "00": "01",
  "01": "12",
  "26": "0014COM.EXAMPLE.QR0118936009140000000000",
  "52": "5734",
  "53": "360",
  "58": "ID",
  "59": "Tollgate",
  "60": "JAKARTA",
  "62": "0703A01"
}

/**
 * Returns a QRIS text with this amount. Fields that are undefined are omitted.
 */
export const aQrisCode = (total: bigint, changed: Fields = {}): string => {
  const fields: Fields = { ...PROPER, "54": `${total}`, ...changed }
  const text = Object.entries(fields)
    .filter((field): field is [string, string] => field[1] !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([tag, value]) => `${tag}${String(value.length).padStart(2, "0")}${value}`)
    .join("")
  return `${text}6304${checksum(`${text}6304`)}`
}

/**
 * Computes the CRC-16 bit by bit, so that the tests share no code with the tested implementation.
 */
const checksum = (text: string): string => {
  const bits = [...Buffer.from(text)].flatMap((byte) => [7, 6, 5, 4, 3, 2, 1, 0].map((at) => (byte >> at) & 1))
  const register = Array.from({ length: 16 }, () => 1)
  for (const bit of bits) {
    const out = (register.shift() ?? 0) ^ bit
    register.push(0)
    if (out === 1) for (const at of [3, 10, 15]) register[at] = (register[at] ?? 0) ^ 1
  }
  return Number.parseInt(register.join(""), 2).toString(16).toUpperCase().padStart(4, "0")
}
