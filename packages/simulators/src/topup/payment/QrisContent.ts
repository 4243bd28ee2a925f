/**
 * Makes the text of a simulated QR code: a well-formed QRIS text that no payment app accepts, because its merchant and
 * its payment scheme do not exist.
 *
 * The text is a sequence of fields. Each field consists of a two-digit tag, a two-digit length and a value. The last
 * field is the checksum of the preceding text.
 */
import { renderSVG } from "uqr"
import type { SimulatedPayment } from "./SimulatedPayment.ts"

const MERCHANT = "SIMULATOR NOT REAL"
/**
 * A payment scheme that does not exist. The code does not contain the national scheme, so no payment app accepts the
 * code.
 */
const ACQUIRER = "SIM.LOCAL.TEST"

/** The actions that are impossible because the code contains the amount, with the reasons. */
export const PAID_EXACTLY: SimulatedPayment["impossible"] = {
  underpay: "a QRIS code can only be paid with exactly its amount",
  overpay: "a QRIS code can only be paid with exactly its amount"
}

/** Returns the text of a dynamic code for one payment of exactly this amount. */
export const qrisContent = (amountIdr: bigint, reference: string): string => {
  const account = field("00", ACQUIRER) + field("01", "SIMULATED")
  const checked = [
    field("00", "01"),
    field("01", "12"),
    field("26", account),
    field("52", "0000"),
    field("53", "360"),
    field("54", amountIdr.toString()),
    field("58", "ID"),
    field("59", MERCHANT),
    field("60", "NOWHERE"),
    field("62", field("01", reference.slice(0, 25))),
    "6304"
  ].join("")
  return checked + checksum(checked)
}

/** Renders the QR code as an SVG image, with the white margin that scanners require. */
export const qrPicture = (content: string): string => renderSVG(content, { ecc: "M", border: 4 })

const field = (tag: string, value: string): string => tag + value.length.toString().padStart(2, "0") + value

/** Returns the CRC-16/CCITT-FALSE of ASCII text as four uppercase hexadecimal digits. */
export const checksum = (text: string): string => {
  let crc = 0xffff
  for (const byte of Buffer.from(text, "ascii")) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
    crc &= 0xffff
  }
  return crc.toString(16).toUpperCase().padStart(4, "0")
}
