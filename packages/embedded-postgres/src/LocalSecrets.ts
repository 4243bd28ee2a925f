/**
 * Secrets of a development machine, kept beside the embedded database: made by whoever asks first, the same for
 * everybody who asks later. Production names its secrets itself and never comes here.
 */
import * as Crypto from "node:crypto"
import * as Fs from "node:fs/promises"
import * as Path from "node:path"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

/** The file cannot be made or read, or does not hold a secret. */
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

/** The secret of this name in the data directory, 43 characters out of 32 random bytes, readable by its owner only. */
export const readOrCreate = (
  dataDir: string,
  name: "key-pepper" | "jwt-secret"
): Effect.Effect<Redacted.Redacted<string>, LocalSecretUnusable> => {
  const path = Path.resolve(dataDir, name)
  return Effect.tryPromise({
    try: async () => (await read(path)) ?? (await create(path)),
    catch: (error) => new LocalSecretUnusable({ path, reason: error instanceof Error ? error.message : String(error) })
  }).pipe(
    Effect.filterOrFail(
      (secret) => FORM.test(secret),
      () =>
        new LocalSecretUnusable({ path, reason: "not a secret of ours; restore it, or delete it to have a new one" })
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
    // A link appears with its whole content, and only if nobody else's is there: the first one wins.
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
