import { KeyLimitsChange } from "@tollgate/domain/customer/KeyLimits"
import { Signup } from "@tollgate/domain/reseller/Signup"
import { TopUpRequest } from "@tollgate/domain/topup/TopUpRequest"
import { read } from "@tollgate/domain/validation/Validation"
import { EndpointRequest } from "@tollgate/domain/webhook/WebhookEndpoint"
import { Either, Schema } from "effect"
import { describe, expect, it } from "vitest"

const issuesOf = <A, I>(schema: Schema.Schema<A, I>, body: unknown) =>
  Either.getOrThrow(Either.flip(read(schema)(body))).details.map(({ path, message }) => `${path}: ${message}`)

describe("the issues of a request body", () => {
  it("name each member and its expected form", () => {
    expect(issuesOf(Signup, { email: "x", password: "short", name: 7 })).toEqual([
      "email: an email address, like name@example.com",
      "password: 8 to 128 characters",
      "name: a string",
      "wa_number: is missing"
    ])
  })

  it("contain all accepted forms of a member", () => {
    expect(issuesOf(TopUpRequest, { method: "cash", amount_idr: "many", amount_usd_micro: 0.5 })).toEqual([
      'method: "qris" or "hosted_qris" or "crypto" or "crypto_bep20"',
      "amount_idr: a number",
      "amount_usd_micro: a whole number"
    ])
  })

  it.each([[[]], [null], ["text"], [7], [undefined]])("have an empty path if the body is %j", (body) => {
    expect(issuesOf(Signup, body)).toEqual([": the body must be an object"])
  })

  it("name an unknown member of an optional object", () => {
    const limits = Schema.Struct({ rate: Schema.Number }).annotations({ parseOptions: { onExcessProperty: "error" } })
    const key = Schema.Struct({ limits: Schema.optional(limits), label: Schema.optional(Schema.Null) })
    expect(issuesOf(key, { limits: { rate: "high", extra: 1 }, label: 7 })).toEqual([
      "limits.extra: is not a known member",
      "limits.rate: a number",
      "label: null or undefined"
    ])
  })

  it.each([
    [EndpointRequest, { url: "https://a.example" }, "events", "one or more event types, each only once"],
    [KeyLimitsChange, {}, "models", "1 to 100 public names of models"]
  ] as const)("are one for a list that is too long", (schema: Schema.Schema.AnyNoContext, body, list, form) => {
    expect(issuesOf(schema, { ...body, [list]: Array.from({ length: 30_000 }, () => 0) })).toEqual([`${list}: ${form}`])
  })

  it("are at most twenty", () => {
    const wide = Schema.Struct(Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`m${i}`, Schema.String])))
    expect(issuesOf(wide, {})).toHaveLength(20)
  })
})
