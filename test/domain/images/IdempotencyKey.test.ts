import { idempotencyKey } from "@tollgate/domain/images/IdempotencyKey"
import { Either } from "effect"
import { describe, expect, it } from "vitest"

describe("an idempotency key", () => {
  it.each([["a"], ["9d3f8c1e-2b7a-4a55-8d55-1f0c6f3f7f10"], ["~!"], ["x".repeat(255)]])(
    "is accepted if it has 1 to 255 visible ASCII characters: %j",
    (header) => {
      expect(idempotencyKey(header)).toEqual(Either.right(header))
    }
  )

  it.each([[""], [" "], ["a b"], ["a\t"], ["a\n"], ["é"], ["\u007f"], ["１"], ["x".repeat(256)]])(
    "is refused with another length or character: %j",
    (header) => {
      expect(Either.flip(idempotencyKey(header))).toMatchObject({
        right: { _tag: "InvalidRequest", param: "Idempotency-Key" }
      })
    }
  )

  it("is undefined if the header is absent", () => {
    expect(idempotencyKey(undefined)).toEqual(Either.right(undefined))
  })
})
