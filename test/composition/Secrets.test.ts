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

  it.effect("is made once, however many ask for it at the same time", () =>
    Effect.gen(function* () {
      const asked = Array.from({ length: 20 }, () => readOrCreate(directory, "key-pepper"))
      const secrets = (yield* Effect.all(asked, { concurrency: "unbounded" })).map(Redacted.value)
      expect(new Set(secrets).size).toBe(1)
      expect(Redacted.value(yield* readOrCreate(directory, "key-pepper"))).toBe(secrets[0])
      expect(readdirSync(directory)).toEqual(["key-pepper"])
    })
  )

  it.effect("can be read by its owner only, and not by printing it", () =>
    Effect.gen(function* () {
      const secret = yield* readOrCreate(directory, "key-pepper")
      expect(statSync(join(directory, "key-pepper")).mode & 0o777).toBe(0o600)
      expect(JSON.stringify({ secret, text: String(secret) })).not.toContain(Redacted.value(secret))
    })
  )

  it.effect("is another one under another name", () =>
    Effect.gen(function* () {
      const pepper = yield* readOrCreate(directory, "key-pepper")
      expect(Redacted.value(yield* readOrCreate(directory, "jwt-secret"))).not.toBe(Redacted.value(pepper))
    })
  )

  it.effect("that was damaged is told and left alone, without showing it", () =>
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

  it.effect("that cannot be kept is told with its path", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(readOrCreate("/dev/null/data", "key-pepper"))
      expect(failure.message).toContain("/dev/null/data/key-pepper")
    })
  )
})
