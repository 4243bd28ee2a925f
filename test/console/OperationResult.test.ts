import { describe, expect, it } from "vitest"
import { mayBeExecuted } from "../../apps/console/src/api/OperationResult.ts"
import { NO_RESPONSE, Problem } from "../../apps/console/src/api/Problem.ts"

const failed = (status: number) => new Problem(status, "", "")

describe("an operation", () => {
  it("may be executed after a request without a clear response", () => {
    for (const error of [new Problem(0, NO_RESPONSE, ""), new SyntaxError(), failed(200), failed(302), failed(503)])
      expect([mayBeExecuted(error, false), mayBeExecuted(error, true)]).toEqual([true, true])
  })

  it("is not executed if its only request was refused", () => {
    for (const status of [400, 401, 402, 403, 404, 409, 422, 429])
      expect(mayBeExecuted(failed(status), false)).toBe(false)
  })

  it("may be executed if the refusal of its repeat does not exclude an execution", () => {
    for (const status of [400, 401, 403, 404, 408, 413, 429]) expect(mayBeExecuted(failed(status), true)).toBe(true)
  })

  it("is not executed if the refusal of its repeat excludes an execution", () => {
    for (const status of [402, 409, 422]) expect(mayBeExecuted(failed(status), true)).toBe(false)
  })
})
