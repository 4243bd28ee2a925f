import { type ListedHold, OpenHolds } from "@tollgate/application/ledger/OpenHolds"
import { holdFindings } from "@tollgate/application/operator/Diagnosis"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"

/** Returns the finding about `open` open holds, of which the oldest `orphaned` are on dead nodes. */
const found = async (open: number, orphaned: number) => {
  const holds = Array.from({ length: open }, (_, i) => ({ orphaned: i < orphaned }) as ListedHold)
  const store = { page: ({ limit }: { readonly limit: number }) => Effect.succeed(holds.slice(0, limit)) }
  const [finding] = await Effect.runPromise(Effect.provideService(holdFindings, OpenHolds, store as never))
  return finding?.detail
}

describe("the check of the holds", () => {
  it.each([
    [999, 0, "999 open, none of them on a dead node"],
    [999, 3, "999 open, 3 on dead nodes"],
    [5_000, 0, "1000 or more open, none of the 1000 oldest on a dead node"],
    [5_000, 3, "1000 or more open, 3 or more on dead nodes"]
  ])(
    "for %i holds, of which %i are on dead nodes, describes at most the 1000 oldest",
    async (open, orphaned, detail) => {
      expect(await found(open, orphaned)).toBe(detail)
    }
  )
})
