/**
 * Creates the demo reseller, approves it, gives it a quota of 100 USD, and links it to the demo customer. The server
 * prints the password, because the demo does not run in production. A server with real payment providers creates no
 * demo reseller.
 */
import { Customers } from "@tollgate/application/customer/Customers"
import { PasswordHasher } from "@tollgate/application/reseller/PasswordHasher"
import { Quota } from "@tollgate/application/reseller/Quota"
import { Resellers } from "@tollgate/application/reseller/Resellers"
import { OperationId } from "@tollgate/domain/operations/Operation"
import { QuotaChange } from "@tollgate/domain/reseller/QuotaAdjustment"
import { Email } from "@tollgate/domain/validation/Email"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"

const email = Schema.decodeSync(Email)("reseller@tollgate.example")
const password = "tollgate-demo"
const operator = { actor: "demo", reason: "seeded at the first start" }

export interface DemoReseller {
  readonly email: string
  readonly password: string
}

/** Creates the reseller at the first start. Later starts keep changes that operators made. */
export const demoReseller = (
  customer: Email
): Effect.Effect<DemoReseller, never, Resellers | Quota | Customers | PasswordHasher> =>
  Effect.gen(function* () {
    const resellers = yield* Resellers
    const known = yield* resellers.credentials(email)
    const { id, status } = Option.isSome(known) ? known.value.reseller : yield* signedUp
    if (status === "pending") yield* resellers.review(id, "approve", operator)
    yield* (yield* Quota).adjust(
      { resellerId: id, change: QuotaChange(100_000_000n), operationId: OperationId.make("demo-welcome-quota") },
      operator
    )
    yield* (yield* Customers).link(id, customer, operator)
    return { email, password }
  }).pipe(Effect.orDie)

/**
 * Warns if an earlier start has created the demo reseller and the reseller is active. The password is public, so any
 * client could log in and open payments of real money.
 */
export const warnOfDemoReseller: Effect.Effect<undefined, never, Resellers> = Effect.gen(function* () {
  const known = yield* (yield* Resellers).credentials(email)
  if (Option.isSome(known) && known.value.reseller.status === "active") {
    yield* Effect.logWarning(
      `the password of ${email} is public, and payments are real; run: tollgate resellers suspend ${email}`
    )
  }
  return undefined
})

const signedUp = Effect.gen(function* () {
  const resellers = yield* Resellers
  const passwordHash = yield* (yield* PasswordHasher).hash("signup", Redacted.make(password))
  return yield* resellers.create({ email, name: "Demo reseller", waNumber: "6281200000000", passwordHash }).pipe(
    // Another server has created the demo reseller concurrently.
    Effect.catchTag("EmailExists", () => resellers.named(email))
  )
})
