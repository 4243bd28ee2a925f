import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "@effect/vitest"
import { readOrCreate } from "@tollgate/composition/Secrets"
import { Effect, Redacted } from "effect"

describe("a local secret", () => {
  let directory: string
  beforeEach(() => {
    directory = join(mkdtempSync(join(tmpdir(), "tollgate-secrets-")), "data")
  })
  afterEach(() => rmSync(join(directory, ".."), { recursive: true }))

  it.effect("is the same for 20 concurrent calls and for a later call", () =>
    Effect.gen(function* () {
      const reads = Array.from({ length: 20 }, () => readOrCreate(directory, "key-pepper"))
      const secrets = (yield* Effect.all(reads, { concurrency: "unbounded" })).map(Redacted.value)
      expect(new Set(secrets).size).toBe(1)
      expect(Redacted.value(yield* readOrCreate(directory, "key-pepper"))).toBe(secrets[0])
      expect(readdirSync(directory)).toEqual(["key-pepper"])
    })
  )

  it.effect("can be read only by its owner", () =>
    Effect.gen(function* () {
      yield* readOrCreate(directory, "key-pepper")
      expect(statSync(join(directory, "key-pepper")).mode & 0o777).toBe(0o600)
    })
  )

  it.effect("is shown neither in JSON nor as a string", () =>
    Effect.gen(function* () {
      const secret = yield* readOrCreate(directory, "key-pepper")
      expect(JSON.stringify({ secret, text: String(secret) })).not.toContain(Redacted.value(secret))
    })
  )

  it.effect("differs for two names", () =>
    Effect.gen(function* () {
      const pepper = yield* readOrCreate(directory, "key-pepper")
      expect(Redacted.value(yield* readOrCreate(directory, "jwt-secret"))).not.toBe(Redacted.value(pepper))
    })
  )

  it.effect("is not replaced if its file is damaged", () =>
    Effect.gen(function* () {
      yield* readOrCreate(directory, "key-pepper")
      const path = join(directory, "key-pepper")
      writeFileSync(path, "half-a-secr")
      const failure = yield* Effect.flip(readOrCreate(directory, "key-pepper"))
      expect(failure.message).toContain(path)
      expect(failure.message).not.toContain("half-a-secr")
      expect(readFileSync(path, "utf8")).toBe("half-a-secr")
    })
  )

  it.effect("causes an error if its file cannot be created", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(readOrCreate("/dev/null/data", "key-pepper"))
      expect(failure.message).toContain("/dev/null/data/key-pepper")
    })
  )
})
