/**
 * Tests the selection of a prepared response by the headers of the request.
 */
import type { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import { make, respond } from "@tollgate/adapters-http/http/Representation"
import { describe, expect, it } from "vitest"

const representation = make("the content", {
  contentType: "text/plain",
  cacheControl: "no-cache",
  compressed: { br: Buffer.from("compressed") }
})
const respondTo = (headers: Readonly<Record<string, string>>) =>
  respond(representation, { headers } as unknown as HttpServerRequest)

describe("the coding of a response", () => {
  it.each([
    ["gzip, deflate, br", "br"],
    ["GZIP", "gzip"],
    ["br;Q=0, gzip;q=0.5", "gzip"],
    ["gzip;q=0;x=1", undefined],
    ["gzip ; q=0.000", undefined],
    ["brotli", undefined],
    ["identity", undefined]
  ])("for accept-encoding %s is %s", (accepted, coding) => {
    expect(respondTo({ "accept-encoding": accepted }).headers["content-encoding"]).toBe(coding)
  })
})

describe("the status of a response", () => {
  it.each([
    ["*", 304],
    [representation.etag, 304],
    [`"other", ${representation.etag.slice(2)}`, 304],
    ['"other"', 200]
  ])("for if-none-match %s is %i", (known, status) => {
    expect(respondTo({ "if-none-match": known }).status).toBe(status)
  })
})
