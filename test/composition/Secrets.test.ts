import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "@effect/vitest"
import { readOperatorSettings } from "@tollgate/composition/OperatorPorts"
import { readOrCreate } from "@tollgate/composition/Secrets"
import { readServerConfig } from "@tollgate/composition/ServerConfig"
import { Effect, Either, Redacted } from "effect"

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

describe("a secret in the environment", () => {
  const SECRET = "uR7xkT2mVq9Lw4Zc8Jh3Nf6Yb1Gs5Pd0"
  const OTHER = "Hq4Vt8Zk1Rm6Xs3Jw9Nb5Lc7Gf2Yd0PT"
  const errorsOf = (read: Either.Either<unknown, ReadonlyArray<string>>) =>
    Either.match(read, { onLeft: (lines) => lines, onRight: () => [] })
  const ofServer = (environment: Record<string, string>) =>
    errorsOf(readServerConfig({ NODE_ENV: "test", PAYMENTS_SIMULATOR: "off", ...environment }))
  const ofCommand = (environment: Record<string, string>) =>
    errorsOf(readOperatorSettings({ NODE_ENV: "test", ...environment }))

  it.each([`${SECRET}\n`, `${SECRET}\r\n`, `${SECRET} `, ` ${SECRET}`, `\uFEFF${SECRET}`])(
    "is refused with white space at an end, and the error does not show it: %j",
    (secret) => {
      const errors = ofServer({ JWT_SECRET: secret, KEY_PEPPER: secret })
      expect(errors).toEqual([
        expect.stringMatching(/^JWT_SECRET: .*white space.*set JWT_SECRET_PREVIOUS to/),
        expect.stringMatching(/^KEY_PEPPER: .*white space.*would invalidate all API keys.*set KEY_PEPPER_PREVIOUS to/)
      ])
      expect(ofCommand({ KEY_PEPPER: secret })).toEqual(errors.slice(1))
      expect(errors.join("\n")).not.toContain(SECRET)
    }
  )

  it("can lose its white space without an interruption, in the steps of a rotation", () => {
    const steps = [
      { KEY_PEPPER: `${SECRET}\n`, KEY_PEPPER_PREVIOUS: SECRET },
      { KEY_PEPPER: SECRET, KEY_PEPPER_PREVIOUS: `${SECRET}\n` },
      { JWT_SECRET: `${SECRET}\n`, JWT_SECRET_PREVIOUS: SECRET },
      { JWT_SECRET: SECRET, JWT_SECRET_PREVIOUS: `${SECRET}\n` }
    ]
    expect(steps.flatMap((step) => [...ofServer(step), ...ofCommand(step)])).toEqual([])
  })

  it("is refused with white space at an end if its rotation leads to another secret", () => {
    expect(ofServer({ KEY_PEPPER: `${SECRET}\n`, KEY_PEPPER_PREVIOUS: OTHER })).toHaveLength(1)
    expect(ofServer({ JWT_SECRET: `${SECRET}\n`, JWT_SECRET_PREVIOUS: `${SECRET}\n` })).toHaveLength(1)
  })

  it("can contain spaces between other characters", () => {
    expect(ofServer({ JWT_SECRET: `${SECRET} ${OTHER}`, KEY_PEPPER: `${OTHER} ${SECRET}` })).toEqual([])
  })
})
