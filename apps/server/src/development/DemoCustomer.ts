/**
 * Creates the demo customer, with an API key and a balance of 10 USD, at the first start. Later starts reuse the
 * customer, and create a new API key only if the key file is missing or its key is not valid.
 *
 * The API key is stored in the data directory, in a file that only its owner can read, because the database holds only
 * the digest of the key. The key in the file is not valid if the file belongs to another database, or if the pepper was
 * replaced.
 */
import { randomUUID } from "node:crypto"
import { mkdir, readFile, rename, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { ApiKeys } from "@tollgate/application/customer/ApiKeys"
import { PaygAccounts } from "@tollgate/application/customer/PaygAccounts"
import { Users } from "@tollgate/application/customer/Users"
import { ApiKeyAuthenticator } from "@tollgate/application/inference/ApiKeyAuthenticator"
import { rootMessageOf, StartFailed } from "@tollgate/composition/StartFailed"
import { UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { OperationId } from "@tollgate/domain/operations/Operation"
import { Email } from "@tollgate/domain/validation/Email"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"

const email = Schema.decodeSync(Email)("demo@tollgate.example")
const operator = { actor: "demo", reason: "seeded at the first start" }

export interface DemoCustomer {
  readonly email: Email
  readonly key: Redacted.Redacted<string>
}

export const demoCustomer = (dataDir: string) =>
  Effect.gen(function* () {
    const users = yield* Users
    const found = users.find(email)
    yield* found.pipe(
      Effect.catchTag("UserNotFound", () => users.create(email, operator)),
      // Another server has created the demo customer concurrently.
      Effect.catchTag("UserExists", () => found)
    )
    yield* (yield* PaygAccounts).credit({
      email,
      amount: UsdMicro(10_000_000n),
      operationId: Schema.decodeSync(OperationId)("demo-welcome-credit"),
      operator
    })
    const file = join(dataDir, "demo-key")
    const stored = yield* Effect.promise(() => readFile(file, "utf8").catch(() => ""))
    const key = Redacted.make(stored.trim())
    if (yield* isValid(key)) return { email, key } satisfies DemoCustomer
    const { secret } = yield* Effect.orDie((yield* ApiKeys).create(email, "demo", operator))
    yield* Effect.tryPromise({
      try: () => store(file, `${Redacted.value(secret)}\n`),
      catch: (error) =>
        new StartFailed({ message: `the API key of the demo cannot be stored: ${rootMessageOf(error)}` })
    })
    return { email, key: secret } satisfies DemoCustomer
  })

/** Returns false if the key is refused. If the database responds too slowly, the key counts as valid. */
const isValid = (key: DemoCustomer["key"]) =>
  Effect.flatMap(ApiKeyAuthenticator, ({ authenticate }) => authenticate(key)).pipe(
    Effect.match({ onFailure: ({ _tag }) => _tag !== "InvalidApiKey", onSuccess: () => true })
  )

/**
 * Writes the key file atomically. If several servers write the file concurrently, it has the key of one of them. All
 * their keys are valid.
 */
const store = async (file: string, text: string): Promise<void> => {
  await mkdir(dirname(file), { recursive: true })
  const draft = `${file}.${randomUUID()}`
  await writeFile(draft, text, { mode: 0o600, flag: "wx" })
  await rename(draft, file)
}
