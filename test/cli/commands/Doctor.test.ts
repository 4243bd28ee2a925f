import { tmpdir } from "node:os"
import { describe, expect, it, layer } from "@effect/vitest"
import { Catalogs } from "@tollgate/application/catalog/Catalogs"
import { type EndpointPepperCounts, KeyPeppers, type PepperCounts } from "@tollgate/application/customer/KeyPeppers"
import { ImageReviews } from "@tollgate/application/images/ImageReviews"
import { OpenHolds } from "@tollgate/application/ledger/OpenHolds"
import { Database, type DatabaseState } from "@tollgate/application/operations/Database"
import { Effect, Layer, Option, Redacted } from "effect"
import { reportOf } from "../../../apps/cli/src/commands/Doctor.ts"
import { databaseFindings } from "../../../apps/cli/src/diagnosis/DatabaseHealth.ts"
import { machineFindings } from "../../../apps/cli/src/diagnosis/Machine.ts"
import { Settings, type SettingsValues } from "../../../apps/cli/src/runtime/Settings.ts"
import { startedSimulator } from "../../support/SimulatedPayments.ts"
import { layer as commandLine, documentOf, tollgate, useDatabase } from "../CommandLine.ts"
import { aCatalogFile, aFile, provider } from "./CatalogFiles.ts"

/** The password of the database and the credentials of the payment providers, which the command must not print. */
const SECRET = "hunter2"

const healthy: DatabaseState = {
  serverVersion: "18.4",
  pendingMigrations: [],
  incompatibleMigrations: [],
  clockAheadMillis: 3,
  synchronousCommit: "on"
}

/**
 * Runs the database checks of `tollgate doctor` with the differences `state` from {@link healthy}. The catalog can
 * never be loaded.
 */
const diagnosed = (
  state: Partial<DatabaseState>,
  production = false,
  moreSettings: Partial<SettingsValues> = {},
  peppers?: PepperCounts,
  endpoints?: EndpointPepperCounts
) => {
  const settings: SettingsValues = {
    NODE_ENV: production ? "production" : "development",
    HOST: "127.0.0.1",
    PORT: 8080,
    DATA_DIR: ".tollgate",
    KEY_PREFIX: "tg",
    NODE_DEAD_AFTER_SECONDS: 30,
    ...moreSettings
  }
  const services = Layer.mergeAll(
    Layer.succeed(Settings, settings),
    Layer.succeed(Database, {
      reachable: Effect.succeed(true),
      state: Effect.succeed({ ...healthy, ...state }),
      identity: Effect.dieMessage("tollgate doctor does not read the identity of the database"),
      olderNodes: () => Effect.succeed([]),
      migrate: Effect.dieMessage("tollgate doctor changes nothing"),
      migrateWithoutOlderNodes: () => Effect.dieMessage("tollgate doctor changes nothing")
    }),
    Layer.succeed(Catalogs, {
      load: Effect.dieMessage("relation catalog_state is broken"),
      preview: () => Effect.dieMessage("tollgate doctor does not compare a catalog file with the catalog"),
      apply: () => Effect.dieMessage("tollgate doctor changes nothing")
    }),
    Layer.succeed(KeyPeppers, {
      count: Effect.succeed(Option.fromNullable(peppers)),
      countEndpoints: Effect.succeed(Option.fromNullable(endpoints))
    }),
    Layer.mock(OpenHolds, { page: () => Effect.succeed([]) }),
    Layer.succeed(ImageReviews, {
      list: () => Effect.succeed([]),
      resolve: () => Effect.dieMessage("tollgate doctor changes nothing")
    })
  )
  return Effect.map(Effect.provide(databaseFindings, services), (findings) => {
    const of = (name: string) => findings.find(({ check }) => check === name)
    return { of, report: reportOf(findings) }
  })
}

describe("tollgate doctor", () => {
  it.effect("reports an old Postgres version, a wrong clock and pending migrations", () =>
    Effect.gen(function* () {
      const { of, report } = yield* diagnosed({
        serverVersion: "14.11 (Debian)",
        clockAheadMillis: -61_000,
        pendingMigrations: ["0002_resellers"]
      })
      expect(of("version")).toMatchObject({ status: "fail", advice: "Tollgate needs Postgres 15 or newer." })
      expect(of("clock")).toMatchObject({
        status: "warn",
        detail: "the database clock is 61000 ms behind the local clock"
      })
      expect(of("migrations")).toMatchObject({ status: "fail", advice: "Run: tollgate migrate" })
      expect(report.problem?.message).toBe("These checks failed: version, migrations.")
      expect(report.text).toContain("  migrations: Run: tollgate migrate")
    })
  )

  it.effect("fails after an incompatible migration of a newer release", () =>
    Effect.gen(function* () {
      const { of } = yield* diagnosed({ incompatibleMigrations: ["0030_contract"] })
      expect(of("migrations")).toMatchObject({
        status: "fail",
        detail: "applied by a newer release: 0030_contract",
        advice: expect.stringContaining("Start the newer release.")
      })
      expect(of("holds")).toBeUndefined()
    })
  )

  it.effect("fails in production if synchronous_commit is off", () =>
    Effect.gen(function* () {
      expect((yield* diagnosed({ synchronousCommit: "off" })).of("durability")?.status).toBe("warn")
      expect((yield* diagnosed({ synchronousCommit: "off" }, true)).of("durability")?.status).toBe("fail")
      expect((yield* diagnosed({}, true)).of("durability")?.status).toBe("ok")
    })
  )

  it.effect("runs the remaining checks after an unexpected failure", () =>
    Effect.gen(function* () {
      const { of } = yield* diagnosed({})
      expect(of("catalog")).toMatchObject({ status: "fail", detail: "relation catalog_state is broken" })
      expect(of("holds")).toMatchObject({ status: "ok" })
    })
  )

  it.effect("reports how many keys need KEY_PEPPER_PREVIOUS", () =>
    Effect.gen(function* () {
      const rotating = { KEY_PEPPER_PREVIOUS: Redacted.make("the pepper before") }
      const found = (peppers: PepperCounts, moreSettings: Partial<SettingsValues> = rotating) =>
        Effect.map(diagnosed({}, true, moreSettings, peppers), ({ of }) => of("key rotation") ?? of("key peppers"))
      expect(yield* found({ all: 9, others: 3, othersInUse: 1, refused: 0 })).toMatchObject({
        status: "warn",
        detail: "3 of 9 keys need KEY_PEPPER_PREVIOUS; used in the last 30 days: 1",
        advice: expect.stringContaining("stops working when KEY_PEPPER_PREVIOUS is removed")
      })
      expect(yield* found({ all: 9, others: 0, othersInUse: 0, refused: 0 })).toMatchObject({
        status: "ok",
        detail: "no key needs KEY_PEPPER_PREVIOUS; keys under KEY_PEPPER: 9"
      })
      expect(yield* found({ all: 9, others: 7, othersInUse: 7, refused: 2 }, {})).toMatchObject({
        status: "fail",
        detail: "2 of 9 keys are stored under a pepper that is not set in this shell"
      })
      expect(yield* found({ all: 9, others: 7, othersInUse: 7, refused: 0 }, {})).toBeUndefined()
    })
  )

  it.effect("reports how many webhook endpoints need KEY_PEPPER_PREVIOUS", () =>
    Effect.gen(function* () {
      const found = (endpoints: EndpointPepperCounts) =>
        Effect.map(diagnosed({}, true, {}, undefined, endpoints), ({ of }) => of("webhook secrets"))
      expect(yield* found({ all: 4, others: 0, unusable: 0 })).toBeUndefined()
      expect(yield* found({ all: 4, others: 3, unusable: 0 })).toMatchObject({
        status: "warn",
        detail: "3 of 4 webhook endpoints need KEY_PEPPER_PREVIOUS",
        advice: expect.stringContaining("tollgate webhooks endpoints rotate ID")
      })
      expect(yield* found({ all: 4, others: 3, unusable: 1 })).toMatchObject({
        status: "fail",
        detail: "1 of 4 webhook endpoints have a secret under a pepper that is not set in this shell"
      })
    })
  )

  layer(commandLine, { excludeTestServices: true })((it) => {
    it.effect("warns about a provider key that is not set", () =>
      Effect.gen(function* () {
        const empty = yield* tollgate("doctor")
        expect(empty.code).toBe(0)
        expect(empty.stdout).toMatch(/^warn +catalog +version 0; callable models: 0; providers: 0$/m)
        yield* tollgate("catalog", "apply", aCatalogFile())
        const unset = yield* tollgate("doctor", "--json")
        expect(unset).toMatchObject({ code: 0, stderr: "" })
        expect(documentOf(unset)).toMatchObject({
          ok: true,
          checks: expect.arrayContaining([
            expect.objectContaining({ check: "database", status: "ok", advice: null }),
            expect.objectContaining({ check: "provider openai", status: "warn", advice: expect.any(String) })
          ])
        })
        process.env.TOLLGATE_TEST_OPENAI_KEY = "sk-very-secret"
        const set = yield* tollgate("doctor", "--json")
        expect(set.stdout).toContain("TOLLGATE_TEST_OPENAI_KEY is set")
        expect(set.stdout).not.toContain("sk-very-secret")
      })
    )

    it.effect("warns about a self-hosted provider without a key, because the server sends it no request", () =>
      Effect.gen(function* () {
        const own = { base_url: "http://127.0.0.1:11434/v1", protocols: ["chat"] }
        const providers = [
          { ...own, name: "own", api_key_env: "TOLLGATE_TEST_OWN_KEY" },
          { ...own, name: "simulator", api_key_env: "SIMULATOR_API_KEY" }
        ]
        yield* tollgate("catalog", "apply", aFile(JSON.stringify({ providers, models: [] })))
        const { checks } = documentOf(yield* tollgate("doctor", "--json")) as { checks: ReadonlyArray<object> }
        expect(checks).toEqual(
          expect.arrayContaining([
            expect.objectContaining({
              check: "provider own",
              status: "warn",
              advice: expect.stringContaining("set it to any text")
            }),
            expect.objectContaining({ check: "provider simulator", status: "ok" })
          ])
        )
      })
    )

    it.effect("warns about a blank provider key, because the server treats it as missing", () =>
      Effect.gen(function* () {
        yield* tollgate("catalog", "apply", aCatalogFile())
        process.env.TOLLGATE_TEST_OPENAI_KEY = " \n"
        const { checks } = documentOf(yield* tollgate("doctor", "--json")) as { checks: ReadonlyArray<object> }
        delete process.env.TOLLGATE_TEST_OPENAI_KEY
        expect(checks).toContainEqual(
          expect.objectContaining({
            check: "provider openai",
            status: "warn",
            detail: "TOLLGATE_TEST_OPENAI_KEY is blank in this shell"
          })
        )
      })
    )

    it.effect("fails if the catalog names a setting of the server as the key of a provider", () =>
      Effect.gen(function* () {
        const wrong = { ...provider, api_key_env: "KEY_PEPPER" }
        yield* tollgate("catalog", "apply", aFile(JSON.stringify({ providers: [wrong], models: [] })))
        const checked = yield* tollgate("doctor", "--json")
        expect(checked.code).toBe(1)
        expect(documentOf(checked)).toMatchObject({
          checks: expect.arrayContaining([
            expect.objectContaining({
              check: "provider openai",
              status: "fail",
              detail: expect.stringMatching(/^KEY_PEPPER is a setting of the server/)
            })
          ])
        })
      })
    )
  })

  describe("for payment providers", () => {
    /** Returns the findings about payments, with an unreachable database, and checks that no output has the secret. */
    const found = (environment: Readonly<Record<string, string>>) =>
      Effect.gen(function* () {
        const original = { ...process.env }
        useDatabase(`postgres://user:${SECRET}@127.0.0.1:1/tollgate`)
        Object.assign(process.env, environment)
        const checked = yield* tollgate("doctor", "--json")
        for (const name of Object.keys(environment)) delete process.env[name]
        Object.assign(process.env, original)
        expect(checked.stdout + checked.stderr).not.toContain(SECRET)
        const { checks } = documentOf(checked) as { checks: ReadonlyArray<{ check: string }> }
        return checks.filter(({ check }) => check.startsWith("payments"))
      })

    it.scopedLive("probes the simulator", () =>
      Effect.gen(function* () {
        const { baseUrl } = yield* startedSimulator()
        const { port } = new URL(baseUrl)
        expect(yield* found({ PAYMENTS_SIMULATOR: "on", PAYMENTS_SIM_PORT: port })).toMatchObject([
          { check: "payments", status: "ok", detail: `simulated at ${baseUrl}` }
        ])
        expect(yield* found({ PAYMENTS_SIMULATOR: "on", PAYMENTS_SIM_PORT: "1" })).toMatchObject([
          { check: "payments", status: "warn", advice: expect.stringContaining("npm start") }
        ])
      })
    )

    it.scopedLive("fails if a provider refuses the configured credentials", () =>
      Effect.gen(function* () {
        const { baseUrl } = yield* startedSimulator()
        const accounts = {
          MIDTRANS_BASE_URL: `${baseUrl}/midtrans`,
          MIDTRANS_SERVER_KEY: SECRET,
          NOWPAYMENTS_BASE_URL: "http://127.0.0.1:1",
          NOWPAYMENTS_API_KEY: SECRET,
          NOWPAYMENTS_IPN_SECRET: SECRET
        }
        expect(yield* found(accounts)).toMatchObject([
          { check: "payments qris", status: "fail" },
          { check: "payments crypto", status: "warn" }
        ])
      })
    )

    it.live("fails for settings with which a server would not start", () =>
      Effect.gen(function* () {
        expect(yield* found({ BSC_RPC_URLS: `https://node.example/${SECRET}` })).toMatchObject([
          {
            check: "payments",
            status: "fail",
            detail: expect.stringContaining("BSC_XPUB: required together with BSC_RPC_URLS")
          }
        ])
      })
    )
  })

  describe("the data directory", () => {
    const directory = (given: Partial<SettingsValues>) =>
      machineFindings.pipe(
        Effect.provideService(Settings, {
          NODE_ENV: "production",
          HOST: "127.0.0.1",
          PORT: 8080,
          DATA_DIR: "/dev/null/tollgate",
          KEY_PREFIX: "tg",
          NODE_DEAD_AFTER_SECONDS: 30,
          ...given
        }),
        Effect.map((findings) => findings.find(({ check }) => check === "data directory")?.status)
      )

    it.effect("is not checked in production with DATABASE_URL, because no program uses it", () =>
      Effect.gen(function* () {
        expect(yield* directory({ DATABASE_URL: Redacted.make("postgres://127.0.0.1/tollgate") })).toBeUndefined()
      })
    )

    it.effect("must be writable for the embedded Postgres and for generated secrets", () =>
      Effect.gen(function* () {
        const database = Redacted.make("postgres://127.0.0.1/tollgate")
        const development = { NODE_ENV: "development", DATABASE_URL: database } as const
        expect(yield* directory({})).toBe("fail")
        expect(yield* directory(development)).toBe("fail")
        expect(yield* directory({ ...development, DATA_DIR: tmpdir() })).toBe("ok")
      })
    )
  })

  it.live("reports an unreachable database as a finding", () =>
    Effect.gen(function* () {
      useDatabase(`postgres://user:${SECRET}@127.0.0.1:1/tollgate`)
      const checked = yield* tollgate("doctor", "--json")
      expect(checked.code).toBe(1)
      expect(documentOf(checked)).toMatchObject({
        ok: false,
        checks: [
          { check: "data directory" },
          { check: "key pepper" },
          { check: "payments" },
          { check: "database", status: "fail" }
        ]
      })
      expect(checked.stdout + checked.stderr).not.toContain(SECRET)
    })
  )
})
