/**
 * The targets of payment data. A second, independent parser must find the amount of the order and the right checksum in
 * an accepted QRIS text. A reader of amounts must return the exact value of a text, which only `floorUsdMicroOf`
 * rounds.
 */
import { parse as parseExact } from "@tollgate/adapters-upstream/topup/wire/ExactJson"
import type { faultOf } from "@tollgate/adapters-upstream/topup/wire/Qris"
import { floorUsdMicroOf, idrOf, usdDigits, usdMicroOf } from "@tollgate/adapters-upstream/topup/wire/WireAmounts"
import { Idr } from "@tollgate/domain/money/Idr"
import { decideTerms, defaultBounds, TopUpRequest } from "@tollgate/domain/topup/TopUpRequest"
import { Email } from "@tollgate/domain/validation/Email"
import { readWhole } from "@tollgate/domain/validation/Page"
import { read } from "@tollgate/domain/validation/Validation"
import { Either, FastCheck, Schema } from "effect"
import { aQrisCode } from "../../adapters-upstream/topup/QrisCode.ts"
import { type FuzzTarget, must, mustEqual, pure } from "../Target.ts"
import { jsonText } from "./JsonText.ts"

export type FindQrisFault = typeof faultOf

/** An input is the amount of the order, a line break, and the QRIS text. */
const checkQris =
  (findFault: FindQrisFault) =>
  (input: Buffer): void => {
    const [amount = "", ...lines] = input.toString().split("\n")
    const total = /^\d{1,12}$/.test(amount) ? BigInt(amount) : 1n
    const text = lines.join("\n")
    mustEqual(findFault(aQrisCode(total), Idr(total)) ?? "accepted", "accepted", "a correct code")
    if (findFault(text, Idr(total)) !== undefined) return
    const fields = fieldsOf(text)
    must(fields.get("63")?.toLowerCase() === crc(text.slice(0, -4)).toLowerCase(), "accepts a wrong checksum")
    must(
      /^\d+(\.0+)?$/.test(fields.get("54") ?? "") && BigInt((fields.get("54") ?? "").split(".")[0] ?? "") === total,
      "accepts another amount"
    )
    mustEqual(
      [fields.get("00"), fields.get("53"), fields.get("58")],
      ["01", "360", "ID"],
      "the version, currency and country"
    )
    must(findFault(text, Idr(total + 1n)) !== undefined, "accepts the same code for two amounts")
  }

const fieldsOf = (text: string): ReadonlyMap<string, string> => {
  const fields = new Map<string, string>()
  for (let rest = text; rest !== ""; ) {
    const length = Number.parseInt(rest.slice(2, 4), 10)
    must(/^\d{4}/.test(rest) && rest.length >= 4 + length, "accepts a field that is cut off")
    must(!fields.has(rest.slice(0, 2)), "accepts a field twice")
    fields.set(rest.slice(0, 2), rest.slice(4, 4 + length))
    rest = rest.slice(4 + length)
  }
  return fields
}

/** Computes the CRC-16/CCITT-FALSE by a polynomial division of big integers. */
const crc = (text: string): string => {
  const bytes = Buffer.from(text)
  for (let i = 0; i < Math.min(2, bytes.length); i++) bytes[i] = (bytes[i] as number) ^ 0xff
  let value = BigInt(`0x${bytes.toString("hex")}0000`)
  for (let bit = value.toString(2).length - 1; bit >= 16; bit--) {
    if ((value >> BigInt(bit)) & 1n) value ^= 0x11021n << BigInt(bit - 16)
  }
  return value.toString(16).toUpperCase().padStart(4, "0")
}

export const qrisTarget = (findFault: FindQrisFault): FuzzTarget => ({
  name: "qris",
  grammar: FastCheck.tuple(
    FastCheck.nat(9_000_000),
    FastCheck.dictionary(
      FastCheck.constantFrom("01", "26", "51", "52", "54", "55", "59", "61", "62"),
      FastCheck.string({ maxLength: 12 }),
      { maxKeys: 2 }
    ),
    FastCheck.constantFrom(0, 0, 0, 1)
  ).map(([total, changed, more]) => Buffer.from(`${total + more}\n${aQrisCode(BigInt(total), changed)}`)),
  words: ["000201", "010211", "5303360", "5802ID", "6304", "5400", "55020163", "é"],
  testInputs: 750,
  open: pure(checkQris(findFault))
})

export interface AmountsSubject {
  readonly idrOf: typeof idrOf
  readonly usdMicroOf: typeof usdMicroOf
  readonly floorUsdMicroOf: typeof floorUsdMicroOf
  readonly parseExact: typeof parseExact
}

export const amountsSubject: AmountsSubject = { idrOf, usdMicroOf, floorUsdMicroOf, parseExact }

const readTopUp = read(TopUpRequest)
const decodeEmail = Schema.decodeUnknownEither(Email)

const checkAmounts =
  (subject: AmountsSubject) =>
  (input: Buffer): void => {
    const text = input.toString()
    const exact = fractionOf(text)
    const rupiah = subject.idrOf(text)
    must(
      rupiah === undefined || (exact !== undefined && rupiah * exact.denominator === exact.numerator),
      "idrOf: another value"
    )
    const micro = subject.usdMicroOf(text)
    const scaled = exact && exact.numerator * 1_000_000n
    must(
      micro === undefined || (exact !== undefined && micro * exact.denominator === scaled),
      "usdMicroOf: another value"
    )
    if (micro !== undefined && micro < 10n ** 30n)
      mustEqual(`${usdMicroOf(usdDigits(micro))}`, `${micro}`, "usdDigits: the value")
    const floor = subject.floorUsdMicroOf(text)
    must(
      floor === undefined || (exact !== undefined && floor === (exact.numerator * 1_000_000n) / exact.denominator),
      "floorUsdMicroOf: another value"
    )
    must(/^\d{1,18}$/.test(text) ? rupiah !== undefined && micro !== undefined : true, "refuses a whole number")
    checkJson(subject, text)
    const limit = readWhole("limit", text, { default: 50, min: 1, max: 100 })
    must(Either.isLeft(limit) || (limit.right >= 1 && limit.right <= 100), "a page has an impossible size")
    const email = decodeEmail(text)
    if (Either.isRight(email)) mustEqual(decodeEmail(email.right), email, "an email address in its stored form")
  }

const checkJson = ({ parseExact }: AmountsSubject, text: string): void => {
  const parsed = Either.try(() => JSON.parse(text))
  const exact = parseExact(text)
  mustEqual(Either.isRight(exact), Either.isRight(parsed), "ExactJson: the text is JSON")
  if (Either.isLeft(exact) || Either.isLeft(parsed)) return
  mustEqual(withNumbers(exact.right, parsed.right), parsed.right, "ExactJson: the value")
  const topUp = Either.flatMap(readTopUp(parsed.right), (request) => decideTerms(request, defaultBounds))
  must(Either.isLeft(topUp) || topUp.right.quotaUsdMicro > 0n, "a top-up has no quota")
}

/** Returns the value of `ExactJson`, with each text of a number replaced by the number where the reference has one. */
const withNumbers = (exact: unknown, reference: unknown): unknown => {
  if (typeof reference === "number") return Number(exact)
  if (Array.isArray(reference))
    return reference.map((each, i) => withNumbers((exact as ReadonlyArray<unknown>)[i], each))
  if (typeof reference !== "object" || reference === null) return exact
  return Object.fromEntries(
    Object.entries(reference).map(([name, each]) => [
      name,
      withNumbers((exact as { [name: string]: unknown })[name], each)
    ])
  )
}

/** Returns the exact value of a decimal number as a fraction; undefined if the text is not a decimal number. */
const fractionOf = (text: string): { readonly numerator: bigint; readonly denominator: bigint } | undefined => {
  const [mantissa = "", exponent = "0", ...more] = text.toLowerCase().split("e")
  const [whole = "", fraction = "", ...points] = mantissa.split(".")
  const digits = /^\d+$/
  if (!digits.test(whole + fraction) || !/^[+-]?\d{1,3}$/.test(exponent) || more.length + points.length > 0)
    return undefined
  const shift = BigInt(exponent) - BigInt(fraction.length)
  const allDigits = BigInt(whole + fraction)
  return shift >= 0n
    ? { numerator: allDigits * 10n ** shift, denominator: 1n }
    : { numerator: allDigits, denominator: 10n ** -shift }
}

const decimal = FastCheck.tuple(
  FastCheck.bigInt({ min: 0n, max: 10n ** 20n }).map(String),
  FastCheck.constantFrom("", ".0", ".00", ".5", ".000001", ".0000001", ".10"),
  FastCheck.constantFrom("", "", "", "e0", "E+3", "e-7", "e99")
).map((parts) => parts.join(""))
const topUp = FastCheck.record(
  {
    method: FastCheck.constantFrom("qris", "hosted_qris", "crypto", "crypto_bep20"),
    amount_idr: FastCheck.constantFrom(10_000, 9_500_000, 1e308, -1, 0.5, null),
    amount_usd_micro: FastCheck.constantFrom(5_000_000, 2 ** 60, null),
    token_kind: FastCheck.constantFrom("usdt", "USDC", 1)
  },
  { requiredKeys: ["method"] }
).map((body) => JSON.stringify(body))

export const amountsTarget = (subject: AmountsSubject): FuzzTarget => ({
  name: "amounts",
  grammar: FastCheck.oneof(decimal, decimal, jsonText, topUp, FastCheck.emailAddress()).map((text) =>
    Buffer.from(text)
  ),
  words: ["1e", "e-", ".", "+", "_", "0x", "Infinity", "NaN", '"amount_idr":', "@", "ı", "\u2160"],
  testInputs: 750,
  open: pure(checkAmounts(subject))
})
