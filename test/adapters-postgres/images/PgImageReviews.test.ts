import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { sqlState } from "@tollgate/adapters-postgres/client/SqlErrorClass"
import * as PgImageReviews from "@tollgate/adapters-postgres/images/PgImageReviews"
import { ImageReviews } from "@tollgate/application/images/ImageReviews"
import { outcomeOf } from "@tollgate/domain/images/ImageOutcome"
import type { Resolution, ReviewReason } from "@tollgate/domain/images/ImageReview"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { Effect, Layer } from "effect"
import * as Stores from "../../support/Stores.ts"
import { aCustomer, aNode, aRequest, aRequestId, balancesOf, type Customer, complete } from "../ledger/Customers.ts"
import { anImage, anImageNode, ends, finished } from "./Images.ts"

const anEndedImage = (customer: Customer, reason: ReviewReason) =>
  Effect.gen(function* () {
    const node = yield* anImageNode()
    const image = anImage(customer)
    yield* node.begin(image)
    yield* node.finish(finished(image, outcomeOf(ends[reason], true)))
    return image.requestId
  })

const charging = (usdMicro: bigint): Resolution => ({ _tag: "Charged", amount: UsdMicro(usdMicro) })
const WAIVED: Resolution = { _tag: "Waived" }

const resolve = (requestId: RequestId, resolution: Resolution) =>
  Effect.flatMap(ImageReviews, ({ resolve }) => resolve(requestId, resolution, Stores.operator))

const tryResolve = (requestId: RequestId, resolution: Resolution) =>
  Effect.match(resolve(requestId, resolution), {
    onSuccess: () => "resolved" as const,
    onFailure: ({ _tag }) => _tag
  })

describe("image reviews", () => {
  layer(Layer.provideMerge(PgImageReviews.layer, Stores.layer), { excludeTestServices: true })((it) => {
    it.scoped("are listed as waiting until they are resolved", () =>
      Effect.gen(function* () {
        const reviewed = yield* ImageReviews
        const list = (which: "waiting" | "all", limit: number) => reviewed.list(which, { limit, after: undefined })
        const customer = yield* aCustomer({ usdMicro: 1n })
        expect(yield* list("waiting", 10)).toEqual([])
        const first = yield* anEndedImage(customer, "timeout")
        const second = yield* anEndedImage(customer, "unmetered")
        const common = {
          userId: customer.user.id,
          email: customer.user.email,
          model: "m",
          queuedAt: expect.any(Date),
          position: expect.anything()
        }
        const waiting = { ...common, resolved: undefined }
        const reviews = [
          { ...waiting, requestId: first, reason: "timeout" },
          { ...waiting, requestId: second, reason: "unmetered" }
        ]
        expect(yield* list("waiting", 10)).toEqual(reviews)
        const [oldest, ...more] = yield* list("waiting", 1)
        expect([oldest, more]).toEqual([reviews[0], []])
        expect(yield* reviewed.list("waiting", { limit: 10, after: oldest?.position })).toEqual(reviews.slice(1))
        yield* resolve(first, WAIVED)
        expect(yield* list("waiting", 10)).toEqual(reviews.slice(1))
        const resolved = { resolution: WAIVED, at: expect.any(Date), operator: Stores.operator }
        expect(yield* list("all", 10)).toEqual([{ ...reviews[0], resolved }, reviews[1]])
        yield* resolve(second, WAIVED)
      })
    )

    it.scoped("debit the customer when an operator charges the request", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const customer = yield* aCustomer({ usdMicro: 100n })
        const image = yield* anEndedImage(customer, "unmetered")
        expect(yield* resolve(image, charging(30n))).toMatchObject({
          requestId: image,
          balancePico: 70_000_000n,
          resolved: { resolution: charging(30n), operator: Stores.operator }
        })
        expect((yield* balancesOf(customer)).payg).toEqual([70_000_000n, 0n])
        expect(yield* sql`SELECT actor, action, reason, detail FROM audit_log WHERE subject = ${image}`).toEqual([
          {
            actor: Stores.operator.actor,
            action: "image.charge",
            reason: Stores.operator.reason,
            detail: { user_id: customer.user.id, usd_micro: "30" }
          }
        ])
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("are resolved once for twenty concurrent resolutions", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 100n })
        const { ledger } = yield* aNode()
        const image = yield* anEndedImage(customer, "abandoned")
        const texts = Array.from({ length: 20 }, () => aRequest(customer))
        const [results] = yield* Effect.all(
          [
            Effect.all(
              Array.from({ length: 20 }, (_, i) => tryResolve(image, i % 2 === 0 ? charging(10n) : WAIVED)),
              { concurrency: "unbounded" }
            ),
            Effect.all(
              texts.map((text) => Effect.zipRight(ledger.admit(text), ledger.settle(complete(text)))),
              { concurrency: 5 }
            )
          ],
          { concurrency: 2 }
        )
        expect(results.filter((one) => one === "resolved")).toHaveLength(1)
        expect(results.filter((one) => one === "ReviewResolved")).toHaveLength(19)
        const [remaining] = (yield* balancesOf(customer)).payg
        expect([98_000_000n, 88_000_000n]).toContain(remaining)
        expect(yield* Stores.brokenInvariants).toEqual([])
      })
    )

    it.scoped("cannot charge more than the balance minus open holds", () =>
      Effect.gen(function* () {
        const customer = yield* aCustomer({ usdMicro: 1n })
        const { ledger } = yield* aNode()
        const image = yield* anEndedImage(customer, "withheld")
        const text = aRequest(customer)
        yield* ledger.admit(text)
        expect(yield* tryResolve(image, charging(1n))).toBe("InsufficientBalance")
        yield* ledger.settleLater(complete(text))
        expect(yield* tryResolve(image, WAIVED)).toBe("resolved")
        expect(yield* tryResolve(image, charging(1n))).toBe("ReviewResolved")
        expect(yield* tryResolve(aRequestId(), WAIVED)).toBe("ReviewNotFound")
      })
    )

    it.scoped("cannot be changed after their resolution", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const customer = yield* aCustomer({ usdMicro: 1n })
        const image = yield* anEndedImage(customer, "timeout")
        yield* resolve(image, WAIVED)
        const forgeries = [
          `UPDATE image_request SET state = 'settled' WHERE request_id = '${image}'`,
          `UPDATE image_request SET state = 'running', finished_at = NULL WHERE request_id = '${image}'`,
          `UPDATE image_request SET key_digest = sha256('other') WHERE request_id = '${image}'`,
          `DELETE FROM image_request WHERE request_id = '${image}'`,
          `UPDATE image_review SET resolution = NULL, resolved_at = NULL, resolved_by = NULL, resolved_because = NULL
            WHERE request_id = '${image}'`,
          `DELETE FROM image_review WHERE request_id = '${image}'`,
          "TRUNCATE image_review"
        ]
        for (const forgery of forgeries) {
          const refusal = yield* Effect.flip(sql.unsafe(forgery))
          expect(sqlState(refusal), forgery).toMatch(/^23/)
        }
      })
    )
  })
})
