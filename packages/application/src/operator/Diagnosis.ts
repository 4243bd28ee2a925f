/**
 * Checks the database and its schema, the catalog, the holds, the image reviews and the payment providers of a
 * deployment.
 */
import type { Provider } from "@tollgate/domain/catalog/Provider"
import * as Effect from "effect/Effect"
import { Catalogs } from "../catalog/Catalogs.ts"
import { ImageReviews } from "../images/ImageReviews.ts"
import { OpenHolds } from "../ledger/OpenHolds.ts"
import type { DatabaseState } from "../operations/Database.ts"
import { type PaymentProvider, PaymentProviders, type ProviderUnavailable } from "../topup/PaymentProviders.ts"
import { type Finding, fail, ok, warn } from "./Finding.ts"

const MIN_VERSION = 15
/**
 * The database clock sets stored timestamps, and the server clock limits the lifetime of reseller tokens. A difference
 * of at most one second is harmless.
 */
const MAX_CLOCK_SKEW_MILLIS = 1_000

/** Returns the findings about a database that responds. Other checks need {@link hasSchema}. */
export const stateFindings = (state: DatabaseState, isProduction: boolean): ReadonlyArray<Finding> => [
  ok("database", "responds"),
  version(state),
  clock(state),
  durability(state, isProduction),
  migrations(state)
]

/**
 * Returns true if the database has all migrations of this program and none that this program cannot use. Checks that
 * read tables need this.
 */
export const hasSchema = ({ incompatibleMigrations, pendingMigrations }: DatabaseState): boolean =>
  pendingMigrations.length === 0 && incompatibleMigrations.length === 0

const version = ({ serverVersion }: DatabaseState): Finding =>
  +(/^\d+/.exec(serverVersion)?.[0] ?? "0") >= MIN_VERSION
    ? ok("version", `Postgres ${serverVersion}`)
    : fail("version", `Postgres ${serverVersion}`, `Tollgate needs Postgres ${MIN_VERSION} or newer.`)

const clock = ({ clockAheadMillis }: DatabaseState): Finding => {
  const apart = `${Math.abs(Math.round(clockAheadMillis))} ms ${clockAheadMillis < 0 ? "behind" : "ahead of"} the local clock`
  return Math.abs(clockAheadMillis) <= MAX_CLOCK_SKEW_MILLIS
    ? ok("clock", `the database clock is ${apart}`)
    : warn("clock", `the database clock is ${apart}`, "Synchronise both machines with a time server (NTP).")
}

const durability = ({ synchronousCommit }: DatabaseState, production: boolean): Finding => {
  if (synchronousCommit !== "off") return ok("durability", `synchronous_commit is ${synchronousCommit}`)
  const detail = "synchronous_commit is off: a crash of the database can lose confirmed charges"
  const advice = "Set synchronous_commit to on for this database."
  return production ? fail("durability", detail, advice) : warn("durability", detail, advice)
}

const migrations = ({ incompatibleMigrations, pendingMigrations }: DatabaseState): Finding => {
  if (incompatibleMigrations.length > 0) {
    const detail = `applied by a newer release: ${incompatibleMigrations.join(", ")}`
    return fail("migrations", detail, "This release cannot use the database. Start the newer release.")
  }
  return pendingMigrations.length === 0
    ? ok("migrations", "up to date")
    : fail("migrations", `missing: ${pendingMigrations.join(", ")}`, "Run: tollgate migrate")
}

/** Checks the stored catalog. `ofProvider` checks one of its providers. */
export const catalogFindings = (ofProvider: (provider: Provider) => Finding) =>
  Effect.gen(function* () {
    const { models, providers, version } = yield* Effect.flatMap(Catalogs, (catalogs) => catalogs.load)
    const callable = models.filter((model) => !model.retired && !model.hidden).length
    const summary = `version ${version}; callable models: ${callable}; providers: ${providers.length}`
    return [
      callable > 0
        ? ok("catalog", summary)
        : warn("catalog", summary, "No model can be called. Run: tollgate catalog apply FILE"),
      ...providers.map(ofProvider)
    ]
  })

/** The maximum number of rows to read. If this number is reached, a finding reports "1000 or more". */
const MAX_COUNTED = 1_000

const countOf = (rows: ReadonlyArray<unknown>): string =>
  rows.length < MAX_COUNTED ? `${rows.length}` : `${MAX_COUNTED} or more`

const firstRows = { limit: MAX_COUNTED, after: undefined }

export const holdFindings = Effect.gen(function* () {
  const open = yield* Effect.flatMap(OpenHolds, ({ page }) => page(firstRows))
  const orphaned = open.filter((hold) => hold.orphaned).length
  // Further holds are not read, and they can be on dead nodes.
  const [none, more] =
    open.length < MAX_COUNTED ? ["none of them", ""] : [`none of the ${MAX_COUNTED} oldest`, " or more"]
  return [
    orphaned === 0
      ? ok("holds", `${countOf(open)} open, ${none} on a dead node`)
      : warn(
          "holds",
          `${countOf(open)} open, ${orphaned}${more} on dead nodes`,
          "A running server settles the holds of dead nodes. To settle them now, run: tollgate holds sweep"
        )
  ]
})

export const imageFindings = Effect.gen(function* () {
  const waiting = yield* Effect.flatMap(ImageReviews, ({ list }) => list("waiting", firstRows))
  const [oldest] = waiting
  if (oldest === undefined) return [ok("images", "no image request waits for a review")]
  return [
    warn(
      "images",
      `waiting for a review: ${countOf(waiting)}, the oldest since ${oldest.queuedAt.toISOString()}`,
      "Waive or charge each image request. List them with: tollgate images review list"
    )
  ]
})

/** Checks whether each payment provider responds and accepts the configured credentials. */
export const paymentFindings = Effect.gen(function* () {
  const { all } = yield* PaymentProviders
  if (all.length === 0) {
    const advice =
      "Resellers cannot top up. Set the credentials of a payment provider; docs/operations.md lists the variables."
    return [warn("payments", "no payment provider is configured", advice)]
  }
  return yield* Effect.forEach(all, probeOne, { concurrency: "unbounded" })
})

const probeOne = (provider: PaymentProvider): Effect.Effect<Finding> => {
  const check = `payments ${provider.method}`
  return Effect.match(provider.probe, {
    onSuccess: () => ok(check, `${provider.label} responds`),
    onFailure: ({ detail, kind }) =>
      isTransient(kind)
        ? warn(
            check,
            `${provider.label}: ${detail}`,
            "Top-ups by this method are refused until the provider responds again."
          )
        : fail(
            check,
            `${provider.label}: ${detail}`,
            "Check the settings of this payment provider. Top-ups by this method are refused until its response is correct."
          )
  })
}

/** Returns true for a failure that usually ends without a change of the settings. */
const isTransient = (kind: ProviderUnavailable["kind"]): boolean =>
  kind === "network" || kind === "timeout" || kind === "rate_limited" || kind === "server_error"
