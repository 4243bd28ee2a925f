/**
 * Checks the database server and the schema, the catalog, the holds and the image reviews.
 */
import { Catalogs } from "@tollgate/application/catalog/Catalogs"
import { ImageReviews } from "@tollgate/application/images/ImageReviews"
import { OpenHolds } from "@tollgate/application/ledger/OpenHolds"
import type { Database, DatabaseState } from "@tollgate/application/operations/Database"
import type { Provider } from "@tollgate/domain/catalog/Provider"
import * as Effect from "effect/Effect"
import type { CommandFailed } from "../exit/CommandFailed.ts"
import { reachDatabase } from "../runtime/ReachDatabase.ts"
import { Settings } from "../runtime/Settings.ts"
import { type Finding, fail, findingOnFailure, ok, warn } from "./Finding.ts"

const MIN_VERSION = 15
/**
 * The database clock sets stored timestamps, and the server clock limits the lifetime of reseller tokens. A difference
 * of at most one second is harmless.
 */
const MAX_CLOCK_SKEW_MILLIS = 1_000

export const databaseFindings: Effect.Effect<
  ReadonlyArray<Finding>,
  CommandFailed,
  Database | Catalogs | OpenHolds | ImageReviews | Settings
> = Effect.gen(function* () {
  const { NODE_ENV } = yield* Settings
  const state = yield* reachDatabase
  const findings = [
    ok("database", "responds"),
    version(state),
    clock(state),
    durability(state, NODE_ENV === "production"),
    migrations(state)
  ]
  if (state.pendingMigrations.length > 0) return findings
  return [
    ...findings,
    ...(yield* findingOnFailure("catalog", "The catalog cannot be read.")(catalog)),
    ...(yield* findingOnFailure("holds", "The holds cannot be read.")(holds)),
    ...(yield* findingOnFailure("images", "The image reviews cannot be read.")(images))
  ]
})

const version = ({ serverVersion }: DatabaseState): Finding =>
  Number.parseInt(serverVersion, 10) >= MIN_VERSION
    ? ok("version", `Postgres ${serverVersion}`)
    : fail("version", `Postgres ${serverVersion}`, `Tollgate needs Postgres ${MIN_VERSION} or newer.`)

const clock = ({ clockAheadMillis }: DatabaseState): Finding => {
  const apart = `${Math.abs(Math.round(clockAheadMillis))} ms ${clockAheadMillis < 0 ? "behind" : "ahead of"} the local clock`
  return Math.abs(clockAheadMillis) <= MAX_CLOCK_SKEW_MILLIS
    ? ok("clock", `the database clock is ${apart}`)
    : warn("clock", `the database clock is ${apart}`, "Synchronize both machines with a time server (NTP).")
}

const durability = ({ synchronousCommit }: DatabaseState, production: boolean): Finding => {
  if (synchronousCommit !== "off") return ok("durability", `synchronous_commit is ${synchronousCommit}`)
  const detail = "synchronous_commit is off: a crash of the database can lose confirmed charges"
  const advice = "Set synchronous_commit to on for this database."
  return production ? fail("durability", detail, advice) : warn("durability", detail, advice)
}

const migrations = ({ pendingMigrations }: DatabaseState): Finding =>
  pendingMigrations.length === 0
    ? ok("migrations", "up to date")
    : fail("migrations", `missing: ${pendingMigrations.join(", ")}`, "Run: tollgate migrate")

const catalog = Effect.gen(function* () {
  const { models, providers, version } = yield* Effect.flatMap(Catalogs, (catalogs) => catalogs.load)
  const callable = models.filter((model) => !model.retired && !model.hidden).length
  const summary = `version ${version}; callable models: ${callable}; providers: ${providers.length}`
  return [
    callable > 0
      ? ok("catalog", summary)
      : warn("catalog", summary, "No model can be called. Run: tollgate catalog apply FILE"),
    ...providers.map(providerKey)
  ]
})

/**
 * Checks whether the provider's API key is set in the environment of this command. The environment of the servers may
 * differ.
 */
const providerKey = ({ apiKeyEnv, baseUrl, name }: Provider): Finding => {
  const check = `provider ${name}`
  if (process.env[apiKeyEnv]) return ok(check, `${apiKeyEnv} is set`)
  // A URL with http:// belongs to a self-hosted model or to the simulated provider of the demo. Such a provider may
  // work without a key.
  if (baseUrl.startsWith("http://"))
    return ok(check, `${apiKeyEnv} is not set in this shell; the provider at ${baseUrl} may need no key`)
  return warn(
    check,
    `${apiKeyEnv} is not set in this shell`,
    `The servers must have ${apiKeyEnv} in their environment.`
  )
}

const holds = Effect.gen(function* () {
  const open = yield* Effect.flatMap(OpenHolds, (holds) => holds.list)
  const orphaned = open.filter((hold) => hold.orphaned).length
  return [
    orphaned === 0
      ? ok("holds", `${open.length} open, none of them on a dead node`)
      : warn(
          "holds",
          `${open.length} open, ${orphaned} on dead nodes`,
          "A running server settles the holds of dead nodes. To settle them now, run: tollgate holds sweep"
        )
  ]
})

/** The maximum number of waiting reviews to read. If so many wait, the finding reports "1000 or more". */
const MAX_COUNTED = 1_000

const images = Effect.gen(function* () {
  const waiting = yield* Effect.flatMap(ImageReviews, ({ list }) =>
    list("waiting", { limit: MAX_COUNTED, after: undefined })
  )
  const [oldest] = waiting
  if (oldest === undefined) return [ok("images", "no image request waits for a review")]
  const count = waiting.length < MAX_COUNTED ? `${waiting.length}` : `${MAX_COUNTED} or more`
  return [
    warn(
      "images",
      `waiting for a review: ${count}, the oldest since ${oldest.queuedAt.toISOString()}`,
      "Waive or charge each image request. List them with: tollgate images review list"
    )
  ]
})
