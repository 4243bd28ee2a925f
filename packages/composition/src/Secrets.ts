/**
 * Provides JWT_SECRET and KEY_PEPPER. A secret that the settings do not contain is read from the data directory, and
 * generated there if the file does not exist. In production, `ServerConfig.ts` refuses settings
 * that lack one of the two secrets before a server uses this file.
 *
 * If several processes generate the same secret concurrently, all use the secret that is stored first.
 */
import * as Crypto from "node:crypto"
import * as Fs from "node:fs/promises"
import * as Path from "node:path"
import type { SigningSecrets } from "@tollgate/adapters-http/auth/SigningSecrets"
import * as KeyMac from "@tollgate/adapters-postgres/customer/KeyMac"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"

/** The file for a generated secret cannot be created or read, or does not contain a secret. */
export class LocalSecretUnusable extends Data.TaggedError("LocalSecretUnusable")<{
  readonly path: string
  readonly reason: string
}> {
  override get message(): string {
    return `${this.path}: ${this.reason}`
  }
}

const SECRET_BYTES = 32
const FORM = /^[\w-]{43}$/

type Secret = Redacted.Redacted<string>

/**
 * Returns the secret in a file of the data directory: 32 random bytes as 43 characters. Creates a missing file, which
 * only its owner can read.
 */
export const readOrCreate = (
  dataDir: string,
  name: "key-pepper" | "jwt-secret"
): Effect.Effect<Secret, LocalSecretUnusable> => {
  const path = Path.resolve(dataDir, name)
  return Effect.tryPromise({
    try: async () => (await read(path)) ?? (await create(path)),
    catch: (error) => new LocalSecretUnusable({ path, reason: error instanceof Error ? error.message : String(error) })
  }).pipe(
    Effect.filterOrFail(
      (secret) => FORM.test(secret),
      () =>
        new LocalSecretUnusable({
          path,
          reason: "the file contains no generated secret; restore the file, or delete it to generate a new secret"
        })
    ),
    Effect.map(Redacted.make)
  )
}

const read = (path: string): Promise<string | undefined> =>
  Fs.readFile(path, "utf8").then(
    (text) => text.trim(),
    (error) => (codeOf(error) === "ENOENT" ? undefined : Promise.reject(error))
  )

const create = async (path: string): Promise<string> => {
  await Fs.mkdir(Path.dirname(path), { recursive: true })
  const draft = `${path}.${Crypto.randomBytes(8).toString("hex")}`
  await Fs.writeFile(draft, `${Crypto.randomBytes(SECRET_BYTES).toString("base64url")}\n`, { mode: 0o600, flag: "wx" })
  try {
    // Linking is atomic and fails if the file exists, so the first process wins.
    await Fs.link(draft, path)
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error
  } finally {
    await Fs.rm(draft, { force: true })
  }
  return (await Fs.readFile(path, "utf8")).trim()
}

const codeOf = (error: unknown): unknown =>
  typeof error === "object" && error !== null && "code" in error ? error.code : undefined

const FILES = { KEY_PEPPER: "key-pepper", JWT_SECRET: "jwt-secret" } as const

/** Returns the given secret, or the generated secret if none is given. */
export const secretOf = (
  name: keyof typeof FILES,
  given: Secret | undefined,
  dataDir: string
): Effect.Effect<Secret, LocalSecretUnusable> =>
  given === undefined ? readOrCreate(dataDir, FILES[name]) : Effect.succeed(given)

const ROTATIONS = {
  JWT_SECRET: {
    previous: "JWT_SECRET_PREVIOUS",
    loss: "would end all sessions of resellers",
    steps: "Replacing `JWT_SECRET`"
  },
  KEY_PEPPER: {
    previous: "KEY_PEPPER_PREVIOUS",
    loss: "would invalidate all API keys",
    steps: "Replacing the key pepper"
  }
} as const

type GivenSecrets = {
  readonly [Name in keyof typeof ROTATIONS | (typeof ROTATIONS)[keyof typeof ROTATIONS]["previous"]]?:
    | Secret
    | undefined
}

/**
 * Returns one error for each current secret with white space at an end, such as the line break of a file. A shell
 * removes this line break, and a Kubernetes secret keeps it. Servers and commands would have different secrets, and
 * refuse each other's keys and tokens.
 *
 * A deployment may already use such a secret, and must be able to replace it without an interruption. Therefore the
 * secret is accepted while the previous secret is the same text without the white space: each server then accepts both.
 * A previous secret is never refused, because after the rotation it is the secret with the white space.
 */
export const whiteSpaceErrors = (given: GivenSecrets): ReadonlyArray<string> =>
  Object.entries(ROTATIONS).flatMap(([name, { loss, previous, steps }]) => {
    const [text, other] = [given[name as keyof typeof ROTATIONS], given[previous]].map((secret) =>
      secret === undefined ? undefined : Redacted.value(secret)
    )
    if (text === undefined || text === text.trim() || other === text.trim()) return []
    return [
      `${name}: begins or ends with white space, such as a line break. If the secret is not in use yet, remove the white ` +
        `space. Otherwise this change alone ${loss}: leave ${name} as it is, set ${previous} to the same text without ` +
        `the white space, and continue with the second step of "${steps}" in docs/operations.md`
    ]
  })

/** Provides the `KeyMac`, which holds the peppers. */
export const keyMacLayer = (settings: {
  readonly KEY_PEPPER?: Secret | undefined
  readonly KEY_PEPPER_PREVIOUS?: Secret | undefined
  readonly KEY_PREFIX: string
  readonly DATA_DIR: string
}): Layer.Layer<KeyMac.KeyMac, LocalSecretUnusable> =>
  Layer.unwrapEffect(
    Effect.map(secretOf("KEY_PEPPER", settings.KEY_PEPPER, settings.DATA_DIR), (pepper) =>
      KeyMac.layer({ prefix: settings.KEY_PREFIX, pepper, previousPepper: settings.KEY_PEPPER_PREVIOUS })
    )
  )

/**
 * Returns the secrets that sign the tokens of resellers, the cursors of lists and the URLs of QR images. The current
 * secret signs and verifies; the previous secret only verifies.
 */
export const signingSecrets = (current: Secret, previous: Secret | undefined): SigningSecrets => ({
  secrets: new Map([current, ...(previous === undefined ? [] : [previous])].map((secret) => [nameOf(secret), secret])),
  current: nameOf(current)
})

/** Returns a key id that does not reveal the secret and does not change when the secret becomes the previous secret. */
const nameOf = (secret: Secret): string =>
  Crypto.createHash("sha256")
    .update(`the name of ${Redacted.value(secret)}`)
    .digest("hex")
    .slice(0, 8)
