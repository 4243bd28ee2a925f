/**
 * Checks the error responses of the reseller API.
 */
import { expect } from "vitest"
import { listOf, textOf } from "./SimulatedPayments.ts"
import type { ApiResponse } from "./TestProgramme.ts"

/** Returns the status and the code, such as `404 not_found`. Checks the other members and the headers first. */
export const refusalIn = ({ status, headers, body }: ApiResponse): string => {
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

/** Returns the paths of the invalid request members, which the error response lists in `details`. */
export const pathsIn = ({ body }: ApiResponse): ReadonlyArray<string> =>
  listOf(body.error?.details).map(({ path }) => textOf(path))
