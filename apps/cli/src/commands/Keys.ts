/**
 * `tollgate keys`: what users sign their requests with.
 */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Catalogs } from "@tollgate/application/catalog/Catalogs"
import { ApiKeys } from "@tollgate/application/customer/ApiKeys"
import { localAddress } from "@tollgate/composition/InstallationVariables"
import { type Catalog, callable, discoverable } from "@tollgate/domain/catalog/Catalog"
import { type ApiKey, ApiKeyId } from "@tollgate/domain/customer/ApiKey"
import { Name } from "@tollgate/domain/validation/Text"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import { operatorFor } from "../runtime/Actor.ts"
import { requireKeyPepper, Settings } from "../runtime/Settings.ts"
import { confirm } from "../terminal/Confirmation.ts"
import { timestamp } from "../terminal/JsonDocument.ts"
import type { Answer } from "../terminal/Output.ts"
import { table } from "../terminal/Table.ts"
import { answering } from "./AnsweringCommand.ts"
import { argument, option, reason, user, yes } from "./SharedOptions.ts"

const name = option("name", "NAME", Name, "What to call the key.")
const keyId = argument("key-id", ApiKeyId, "The key's id, as keys list shows it.")

const create = answering(
  "create",
  "Create a key for a user and print it, this once.",
  { user, name, reason: Options.optional(reason) },
  ({ name, reason, user }) =>
    Effect.gen(function* () {
      yield* requireKeyPepper
      // Everything that can fail comes before the key: its secret must not be lost on the way to the screen.
      const tryItWith = yield* firstRequest
      const operator = yield* operatorFor("keys create", reason)
      const { key, secret } = yield* Effect.flatMap(ApiKeys, (keys) => keys.create(user, name, operator))
      const text = Redacted.value(secret)
      return {
        document: { ...keyDocument(key), secret: text },
        text: [
          `Created the key "${key.name}" (${key.id}) for ${user}. It is shown this once and stored nowhere:`,
          `  ${text}`,
          "Try it:",
          tryItWith(text)
        ].join("\n\n")
      } satisfies Answer
    })
)

const list = answering("list", "List a user's keys, newest first, revoked ones too.", { user }, ({ user }) =>
  Effect.gen(function* () {
    const keys = yield* Effect.flatMap(ApiKeys, (keys) => keys.list(user))
    return {
      document: keys.map(keyDocument),
      text:
        keys.length === 0
          ? `${user} has no keys. Create one with: tollgate keys create --user ${user} --name NAME`
          : table(
              [
                { heading: "key id", cell: (key) => key.id },
                { heading: "name", cell: (key) => key.name },
                { heading: "public id", cell: (key) => key.publicId },
                { heading: "created", cell: (key) => timestamp(key.createdAt) },
                { heading: "revoked", cell: (key) => (key.revokedAt === undefined ? "-" : timestamp(key.revokedAt)) }
              ],
              keys
            )
    } satisfies Answer
  })
)

const revoke = answering(
  "revoke",
  "End a key. It is refused from its next request on, everywhere, and cannot be brought back.",
  { keyId, reason: Options.optional(reason), yes },
  ({ keyId, reason, yes }) =>
    Effect.gen(function* () {
      yield* confirm(`Revoke the key ${keyId}? Whoever uses it is refused from now on.`, yes)
      const operator = yield* operatorFor("keys revoke", reason)
      const key = yield* Effect.flatMap(ApiKeys, (keys) => keys.revoke(keyId, operator))
      return {
        document: keyDocument(key),
        text: `The key "${key.name}" (${key.id}) is revoked since ${timestamp(key.revokedAt ?? key.createdAt)}.`
      } satisfies Answer
    })
)

export const keys = Command.make("keys").pipe(
  Command.withDescription("API keys: what users sign their requests with."),
  Command.withSubcommands([create, list, revoke])
)

const keyDocument = (key: ApiKey) => ({
  key_id: key.id,
  user_id: key.userId,
  name: key.name,
  public_id: key.publicId,
  created_at: timestamp(key.createdAt),
  revoked: key.revokedAt !== undefined,
  revoked_at: key.revokedAt === undefined ? null : timestamp(key.revokedAt)
})

/** How to write a first request with a key, to a model that can be called. */
const firstRequest = Effect.gen(function* () {
  const serverAddress = localAddress(yield* Settings)
  const stored = yield* Effect.flatMap(Catalogs, (catalogs) => catalogs.load)
  const catalog: Catalog = {
    version: stored.version,
    models: new Map(stored.models.map((model) => [model.publicName, model])),
    providers: new Map(stored.providers.map((provider) => [provider.name, provider]))
  }
  const model = discoverable(catalog).find(({ publicName }) => Either.isRight(callable(catalog, publicName, "chat")))
  if (model === undefined) {
    return () => "  The catalog has no chat model yet. Apply one with: tollgate catalog apply FILE"
  }
  const body = { model: model.publicName, stream: true, messages: [{ role: "user", content: "Say hello." }] }
  return (secret: string) =>
    [
      `  curl -N ${serverAddress}/v1/chat/completions \\`,
      `    -H "Authorization: Bearer ${secret}" -H "Content-Type: application/json" \\`,
      `    -d '${JSON.stringify(body).replaceAll("'", "\\u0027")}'`
    ].join("\n")
})
