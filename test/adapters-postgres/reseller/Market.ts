/**
 * Models resellers with customers, their random actions and their expected balances. Every action except `charge` uses
 * the stores of the connection that runs it.
 */
import { CustomerKeys } from "@tollgate/application/customer/ApiKeys"
import { Customers } from "@tollgate/application/customer/Customers"
import { resellerReader, SettledUsage } from "@tollgate/application/customer/SettledUsage"
import { Users } from "@tollgate/application/customer/Users"
import { Mints } from "@tollgate/application/mint/Mints"
import { Quota } from "@tollgate/application/reseller/Quota"
import { TopUpOrders } from "@tollgate/application/topup/TopUpOrders"
import type { Model } from "@tollgate/domain/catalog/Model"
import type { ApiKeyId } from "@tollgate/domain/customer/ApiKey"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { OperationId } from "@tollgate/domain/operations/Operation"
import { QuotaChange } from "@tollgate/domain/reseller/QuotaAdjustment"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import type { PaymentObservation } from "@tollgate/domain/topup/PaymentObservation"
import type { OrderId } from "@tollgate/domain/topup/TopUpOrder"
import { Duration, Effect, Either, FastCheck } from "effect"
import { expect } from "vitest"
import * as Programme from "../../support/Programme.ts"
import { operator } from "../../support/Stores.ts"
import { type aNode, aRequest, type Customer, complete } from "../ledger/Customers.ts"

type Kind = "topUp" | "observe" | "credit" | "mint" | "adjust" | "makeKey" | "charge" | "revoke" | "background" | "read"

type Stores = TopUpOrders | Mints | Quota | CustomerKeys | Customers | SettledUsage

/**
 * A random action. Its numbers select the reseller, existing objects, amounts and variants of the action. `observed` is
 * the state of the payment.
 */
export interface Action {
  readonly kind: Kind
  readonly reseller: number
  readonly pick: number
  readonly size: number
  readonly observed: PaymentObservation["_tag"]
}

const often = <A>(weight: number, value: A) => ({ weight, arbitrary: FastCheck.constant(value) })

export const action: FastCheck.Arbitrary<Action> = FastCheck.record({
  kind: FastCheck.oneof(
    often(3, "topUp" as const),
    often(5, "observe" as const),
    often(3, "credit" as const),
    often(6, "mint" as const),
    often(2, "adjust" as const),
    often(2, "makeKey" as const),
    often(6, "charge" as const),
    often(2, "revoke" as const),
    often(1, "background" as const),
    often(1, "read" as const)
  ),
  reseller: FastCheck.nat(5),
  pick: FastCheck.nat(1_000),
  size: FastCheck.integer({ min: 1, max: 40 }),
  observed: FastCheck.constantFrom("Paid", "Paid", "Pending", "Expired", "Failed", "Refunded", "Suspicious")
})

type Ledger = Effect.Effect.Success<ReturnType<typeof aNode>>["ledger"]

const RESELLERS = 6
const CUSTOMERS = 12

export class Market {
  readonly #resellers: ReadonlyArray<ResellerId>
  /** Customer i belongs to the reseller i modulo the number of resellers. */
  readonly #customers: ReadonlyArray<Customer>
  readonly #tiers: ReadonlyArray<string>
  readonly #ledgers: ReadonlyArray<Ledger>
  readonly #orders: Array<OrderId> = []
  readonly #keys: Array<{ readonly id: ApiKeyId; readonly customer: number }> = []
  readonly #revoked = new Set<ApiKeyId>()
  readonly #credited = new Set<OrderId>()
  readonly #mints = new Map<string, string>()
  readonly #quota = new Map<ResellerId, bigint>()
  readonly #granted = new Map<string, bigint>()

  constructor(
    resellers: ReadonlyArray<ResellerId>,
    customers: ReadonlyArray<Customer>,
    tiers: ReadonlyArray<string>,
    ledgers: ReadonlyArray<Ledger>
  ) {
    this.#resellers = resellers
    this.#customers = customers
    this.#tiers = tiers
    this.#ledgers = ledgers
  }

  readonly actions: Readonly<Record<Kind, (action: Action) => Effect.Effect<void, never, Stores>>> = {
    topUp: ({ reseller, pick, size }: Action) =>
      Effect.gen(this, function* () {
        const orders = yield* TopUpOrders
        const quotaUsdMicro = UsdMicro(BigInt(size) * 10_000n)
        const topUp = Programme.aNewTopUp(of(this.#resellers, reseller), { quotaUsdMicro })
        const draft = yield* Effect.orDie(orders.draft(topUp))
        if (pick % 7 === 0) return yield* orders.abandon(draft.id, "no response")
        yield* orders.makeReady(draft.id, Programme.anOpening(draft))
        this.#orders.push(draft.id)
      }),

    observe: ({ pick, observed }: Action) =>
      Effect.gen(this, function* () {
        if (this.#orders.length === 0) return
        const observation = { _tag: observed, received: undefined, paidAt: undefined, reason: "so" }
        yield* Programme.recordObservation(of(this.#orders, pick), observation)
      }),

    credit: ({ pick }: Action) => (this.#orders.length === 0 ? Effect.void : this.#credit(of(this.#orders, pick))),

    mint: ({ reseller, pick, size }: Action) =>
      Effect.gen(this, function* () {
        const resellerId = of(this.#resellers, reseller)
        const { user } = of(this.#customers, pick)
        const operationId = OperationId.make(`${pick % 50}`)
        const request = { operationId, customerEmail: user.email, planTierId: of(this.#tiers, size) }
        const result = yield* Effect.either((yield* Mints).mint(resellerId, request))
        if (Either.isLeft(result)) return
        const { mint, alreadyApplied } = result.right
        const operation = `${resellerId} ${operationId}`
        expect(this.#mints.get(operation) ?? mint.id).toBe(mint.id)
        this.#mints.set(operation, mint.id)
        if (alreadyApplied) return
        add(this.#quota, resellerId, -mint.priceUsdMicro)
        add(this.#granted, user.id, mint.grantedTokens)
      }),

    adjust: ({ reseller, pick, size }: Action) =>
      Effect.gen(this, function* () {
        const resellerId = of(this.#resellers, reseller)
        const change = QuotaChange(BigInt(size) * (pick % 3 === 0 ? -10_000n : 10_000n))
        const operationId = OperationId.make(`${this.#resellers[0]} ${pick % 60}`)
        const adjusted = yield* Effect.either((yield* Quota).adjust({ resellerId, change, operationId }, operator))
        if (Either.isRight(adjusted) && !adjusted.right.alreadyApplied) add(this.#quota, resellerId, change)
      }),

    makeKey: ({ reseller, pick, size }: Action) =>
      Effect.gen(this, function* () {
        const customer = pick % CUSTOMERS
        const { create } = yield* CustomerKeys
        const actor = size % 2 === 0 ? customer % RESELLERS : reseller
        const created = yield* Effect.either(
          create(of(this.#resellers, actor), of(this.#customers, customer).user.id, "k")
        )
        expect(Either.isRight(created)).toBe(customer % RESELLERS === actor)
        if (Either.isRight(created)) this.#keys.push({ id: created.right.key.id, customer })
      }),

    charge: ({ pick, size }: Action) =>
      Effect.gen(this, function* () {
        if (this.#keys.length === 0) return
        const { id, customer } = of(this.#keys, pick)
        const { user, model } = of(this.#customers, customer)
        const input = BigInt(size)
        const request = aRequest({ user, principal: { keyId: id, userId: user.id }, model }, input, 1n)
        const ledger = of(this.#ledgers, pick)
        const wasRevoked = this.#revoked.has(id)
        const admitted = yield* Effect.either(ledger.admit(request))
        if (wasRevoked) expect(admitted).toMatchObject({ _tag: "Left", left: { _tag: "InvalidApiKey" } })
        if (Either.isRight(admitted)) yield* ledger.settle(complete(request, input, BigInt(pick % 50)))
      }),

    revoke: ({ reseller, pick, size }: Action) =>
      Effect.gen(this, function* () {
        if (this.#keys.length === 0) return
        const { id, customer } = of(this.#keys, pick)
        const actor = size % 2 === 0 ? customer % RESELLERS : reseller
        const revoked = yield* Effect.either((yield* CustomerKeys).revoke(of(this.#resellers, actor), id))
        expect(Either.isRight(revoked)).toBe(customer % RESELLERS === actor)
        if (Either.isRight(revoked)) this.#revoked.add(id)
      }),

    background: () =>
      Effect.gen(function* () {
        const orders = yield* TopUpOrders
        yield* orders.claimDue({ providers: ["bsc"], limit: 3, lease: Duration.seconds(1) })
        yield* orders.abandonStale(Duration.minutes(5))
      }),

    read: ({ reseller }: Action) =>
      Effect.gen(this, function* () {
        const resellerId = of(this.#resellers, reseller)
        const filter = { from: undefined, before: undefined, model: undefined, userId: undefined }
        const page = { limit: 5, after: undefined, filter }
        // Too many concurrent reads of one reseller are refused.
        yield* Effect.ignore((yield* SettledUsage).read(resellerReader(resellerId), page))
        yield* (yield* Customers).list(resellerId)
      })
  }

  /** Credits the paid orders, and compares every quota and every plan's purchased tokens with the expected amounts. */
  readonly close = Effect.gen(this, function* () {
    yield* Effect.forEach(this.#orders, (id) => this.#credit(id), { discard: true })
    for (const id of this.#resellers) expect(yield* Programme.balance(id)).toBe(this.#quota.get(id) ?? 0n)
    const users = yield* Users
    for (const { user } of this.#customers) {
      const { plans } = yield* users.balances(user)
      expect(plans[0]?.purchased ?? 0n).toBe(this.#granted.get(user.id) ?? 0n)
    }
    return { credited: this.#credited.size, minted: this.#mints.size, revoked: this.#revoked.size }
  })

  #credit(id: OrderId) {
    return Effect.map(Programme.credit(id), (order) => {
      if (order.status !== "credited" || this.#credited.has(id)) return
      this.#credited.add(id)
      add(this.#quota, order.resellerId, order.quotaUsdMicro)
    })
  }
}

export const open = (model: Model, tiers: ReadonlyArray<string>, ledgers: ReadonlyArray<Ledger>) =>
  Effect.gen(function* () {
    const resellers = yield* Effect.forEach(Array.from({ length: RESELLERS }), () => Programme.aReseller())
    const users = yield* Users
    const customers = yield* Effect.forEach(Array.from({ length: CUSTOMERS }), (_, i) =>
      Effect.gen(function* () {
        const { email } = yield* Programme.aCustomer(of(resellers, i).id)
        const user = yield* users.find(email)
        return { user, principal: { keyId: NO_KEY, userId: user.id }, model }
      })
    )
    return new Market(
      resellers.map(({ id }) => id),
      customers,
      tiers,
      ledgers
    )
  })

const NO_KEY = "00000000-0000-7000-8000-000000000000" as ApiKeyId

/** Returns the element that the number selects. The list must not be empty. */
const of = <A>(some: ReadonlyArray<A>, pick: number): A => some[pick % some.length] as A

const add = <K>(sums: Map<K, bigint>, key: K, amount: bigint) => void sums.set(key, (sums.get(key) ?? 0n) + amount)
