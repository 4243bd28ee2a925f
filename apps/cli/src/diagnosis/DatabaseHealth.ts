/**
 * What the doctor sees of the database, the catalog in it, and the holds and images that wait.
 */
import { Catalogs } from "@tollgate/application/catalog/Catalogs"
import { ImageReviews } from "@tollgate/application/images/ImageReviews"
import { OpenHolds } from "@tollgate/application/ledger/OpenHolds"
import type { Database, DatabaseState } from "@tollgate/application/operations/Database"
import type { Provider } from "@tollgate/domain/catalog/Provider"
import * as Effect from "effect/Effect"
import type { CommandFailed } from "../runtime/CommandFailed.ts"
import { reachDatabase } from "../runtime/ReachDatabase.ts"
import { Settings } from "../runtime/Settings.ts"
import { type Finding, fail, ok, orFinding, warn } from "./Finding.ts"

const OLDEST_VERSION = 15
/** Timestamps are the database's, token lifetimes are the server's: a second apart is harmless. */
const TOLERATED_SKEW_MILLIS = 1_000

export const databaseFindings: Effect.Effect<
  ReadonlyArray<Finding>,
  CommandFailed,
  Database | Catalogs | OpenHolds | ImageReviews | Settings
> = Effect.gen(function* () {
  const { NODE_ENV } = yield* Settings
  const state = yield* reachDatabase
  const findings = [
    ok("database", "answers"),
    version(state),
    clock(state),
    durability(state, NODE_ENV === "production"),
    migrations(state)
  ]
  if (state.pendingMigrations.length > 0) return findings
  return [
    ...findings,
    ...(yield* orFinding("catalog", "The catalog cannot be read.")(catalog)),
    ...(yield* orFinding("holds", "The holds cannot be read.")(holds)),
    ...(yield* orFinding("images", "The images to be looked at cannot be read.")(images))
  ]
})

const version = ({ serverVersion }: DatabaseState): Finding =>
  Number.parseInt(serverVersion, 10) >= OLDEST_VERSION
    ? ok("version", `Postgres ${serverVersion}`)
    : fail("version", `Postgres ${serverVersion}`, `Tollgate needs Postgres ${OLDEST_VERSION} or newer.`)

const clock = ({ clockAheadMillis }: DatabaseState): Finding => {
  const apart = `${Math.abs(Math.round(clockAheadMillis))} ms ${clockAheadMillis < 0 ? "behind" : "ahead of"} ours`
  return Math.abs(clockAheadMillis) <= TOLERATED_SKEW_MILLIS
    ? ok("clock", `the database's is ${apart}`)
    : warn("clock", `the database's is ${apart}`, "Let both machines follow a time server (NTP).")
}

const durability = ({ synchronousCommit }: DatabaseState, production: boolean): Finding => {
  if (synchronousCommit !== "off") return ok("durability", `synchronous_commit is ${synchronousCommit}`)
  const detail = "synchronous_commit is off: a crash of the database can lose charges it has confirmed"
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
  const summary = `version ${version}; models that can be called: ${callable}; providers: ${providers.length}`
  return [
    callable > 0
      ? ok("catalog", summary)
      : warn("catalog", summary, "Nothing can be called. Run: tollgate catalog apply FILE"),
    ...providers.map(providerKey)
  ]
})

/** Keys are looked for where this command runs, which may not be where the servers run. */
const providerKey = ({ apiKeyEnv, baseUrl, name }: Provider): Finding => {
  const check = `provider ${name}`
  if (process.env[apiKeyEnv]) return ok(check, `${apiKeyEnv} is set`)
  // A model of our own, or the simulated supplier of the demo: the server may well do without a key.
  if (baseUrl.startsWith("http://")) return ok(check, `${apiKeyEnv} is not set here; ${baseUrl} may need none`)
  return warn(check, `${apiKeyEnv} is not set here`, `The servers must have ${apiKeyEnv} in their environment.`)
}

const holds = Effect.gen(function* () {
  const open = yield* Effect.flatMap(OpenHolds, (holds) => holds.list)
  const orphaned = open.filter((hold) => hold.orphaned).length
  return [
    orphaned === 0
      ? ok("holds", `${open.length} open, none of a dead node`)
      : warn(
          "holds",
          `${open.length} open, ${orphaned} of dead nodes`,
          "A running server settles them, or: tollgate holds sweep"
        )
  ]
})

/** Whoever has this many waiting need not be told how many more. */
const MOST_COUNTED = 1_000

const images = Effect.gen(function* () {
  const waiting = yield* Effect.flatMap(ImageReviews, ({ list }) => list("waiting", MOST_COUNTED))
  const [oldest] = waiting
  if (oldest === undefined) return [ok("images", "none waits for a person")]
  const count = waiting.length < MOST_COUNTED ? `${waiting.length}` : `${MOST_COUNTED} or more`
  return [
    warn(
      "images",
      `to be looked at: ${count}, the oldest since ${oldest.queuedAt.toISOString()}`,
      "Let them go or charge them: tollgate images review list"
    )
  ]
})
