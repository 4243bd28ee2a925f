/**
 * The members that every refusal of the reseller surface has.
 */
import { expect } from "vitest"
import { listOf, textOf } from "./SimulatedPayments.ts"
import type { Answer } from "./TestProgramme.ts"

/** Returns `404 not_found` after it has checked the other members of the refusal. */
export const refusalIn = ({ status, headers, body }: Answer): string => {
  const { error } = body
  expect(Object.keys(body)).toEqual(["error"])
  const { details, ...rest } = error ?? {}
  expect(rest).toEqual({ code: expect.any(String), message: expect.any(String), request_id: expect.any(String) })
  expect(textOf(rest.request_id)).toBe(headers.get("x-request-id"))
  if (details !== undefined) {
    expect(listOf(details).length).toBeGreaterThan(0)
    for (const detail of listOf(details))
      expect(detail).toEqual({ path: expect.any(String), message: expect.any(String) })
  }
  expect(headers.get("content-type")).toBe("application/json")
  expect(headers.get("cache-control")).toBe("no-store")
  if (status === 429 || status === 503) expect(headers.get("retry-after")).toMatch(/^[1-9]\d*$/)
  if (status === 401 && rest.code?.toString() !== "invalid_signature") {
    expect(headers.get("www-authenticate")).toBe("Bearer")
  }
  return `${status} ${textOf(rest.code)}`
}

/** The paths in `details`. */
export const pathsIn = ({ body }: Answer): ReadonlyArray<string> =>
  listOf(body.error?.details).map(({ path }) => textOf(path))
