/**
 * Defines `tollgate keys`, which creates, lists, limits and revokes the API keys of users.
 */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Catalogs } from "@tollgate/application/catalog/Catalogs"
import { ApiKeys } from "@tollgate/application/customer/ApiKeys"
import { KeyLimitStore } from "@tollgate/application/customer/KeyLimits"
import { KeyLists } from "@tollgate/application/customer/KeyLists"
import { Resellers } from "@tollgate/application/reseller/Resellers"
import { localAddress } from "@tollgate/composition/DeploymentVariables"
import { type Catalog, callable, discoverable } from "@tollgate/domain/catalog/Catalog"
import { type ApiKey, ApiKeyId } from "@tollgate/domain/customer/ApiKey"
import { changeLimits, isUnlimited, noLimits } from "@tollgate/domain/customer/KeyLimits"
import type { Email } from "@tollgate/domain/validation/Email"
import { Name } from "@tollgate/domain/validation/Text"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { CommandFailed } from "../exit/CommandFailed.ts"
import { requireKeyPepper, Settings } from "../runtime/Settings.ts"
import type { Report } from "../terminal/Output.ts"
import { timestamp } from "../terminal/Output.ts"
import { table } from "../terminal/Table.ts"
import { confirm, yes } from "./Confirmation.ts"
import { limitOptions, limitsChange, limitsDocument, limitsTable, usageDocument } from "./KeyLimitOptions.ts"
import { reportCommand } from "./ReportCommand.ts"
import { argument, limit, oneOwner, operatorFor, option, reason, resellerOption, user } from "./SharedOptions.ts"

const name = option("name", "NAME", Name, "The key's name.")
const KeyId = ApiKeyId.annotations({ message: () => "the UUID of an API key" })
const expired = new CommandFailed({
  exit: "usage",
  code: "usage",
  message: "--expires-at: this time has passed, so the new key would already be expired; expected a later time, or none"
})
const keyId = argument("key-id", KeyId, "The key's id, as shown by: tollgate keys list")

const create = reportCommand(
  "create",
  "Create a key for a user. The secret is printed once and not stored.",
  { user, name, limits: limitOptions, reason: Options.optional(reason) },
  ({ limits, name, reason, user }) =>
    Effect.gen(function* () {
      yield* requireKeyPepper
      const requested = changeLimits(noLimits, yield* limitsChange(limits))
      if (requested.expiresAt !== undefined && requested.expiresAt.getTime() <= (yield* Clock.currentTimeMillis)) {
        return yield* expired
      }
      // This step can fail, so it runs before the key is created: the secret is shown only once and must not be lost.
      const tryItWith = yield* firstRequest
      const operator = yield* operatorFor("keys create", reason)
      const { key, secret } = yield* Effect.flatMap(ApiKeys, (keys) => keys.create(user, name, operator, requested))
      const text = Redacted.value(secret)
      return {
        document: { ...keyDocument(key), secret: text },
        text: [
          `Created the key "${key.name}" (${key.id}) for ${user}. The secret is shown once and not stored:`,
          `  ${text}`,
          ...(isUnlimited(key.limits) ? [] : [limitsTable(key.limits, undefined)]),
          "Try it:",
          tryItWith(text)
        ].join("\n\n")
      } satisfies Report
    })
)

const list = reportCommand(
  "list",
  "List the keys of a user, or of all customers of a reseller, newest first, including revoked keys.",
  { user: Options.optional(user), reseller: Options.optional(resellerOption), limit },
  ({ limit, reseller, user }) =>
    Effect.gen(function* () {
      if (Option.isSome(user) === Option.isSome(reseller)) return yield* oneOwner
      return yield* Option.match(user, {
        onNone: () =>
          keysOfReseller(
            Option.getOrElse(reseller, () => ""),
            limit
          ),
        onSome: (email) => keysOfUser(email, limit)
      })
    })
)

const keysOfUser = (user: Email, limit: number) =>
  Effect.gen(function* () {
    const keys = (yield* (yield* ApiKeys).list(user)).slice(0, limit)
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
                { heading: "revoked", cell: (key) => timestampOrDash(key.revokedAt) }
              ],
              keys
            )
    } satisfies Report
  })

const keysOfReseller = (reseller: string, limit: number) =>
  Effect.gen(function* () {
    const { id, email } = yield* Effect.flatMap(Resellers, (resellers) => resellers.named(reseller))
    const keys = yield* Effect.flatMap(KeyLists, ({ ofReseller }) => ofReseller(id, { limit, after: undefined }))
    return {
      document: keys.map((key) => ({
        ...keyDocument(key),
        user_email: key.email,
        last_used_at: key.lastUsedAt === undefined ? null : timestamp(key.lastUsedAt)
      })),
      text:
        keys.length === 0
          ? `The customers of ${email} have no keys.`
          : table(
              [
                { heading: "key id", cell: (key) => key.id },
                { heading: "customer", cell: (key) => key.email },
                { heading: "name", cell: (key) => key.name },
                { heading: "created", cell: (key) => timestamp(key.createdAt) },
                { heading: "last used", cell: (key) => timestampOrDash(key.lastUsedAt) },
                { heading: "revoked", cell: (key) => timestampOrDash(key.revokedAt) }
              ],
              keys
            )
    } satisfies Report
  })

const limits = reportCommand(
  "limits",
  "Show the limits of a key and their usage. With options, change the limits.",
  { keyId, limits: limitOptions, reason: Options.optional(reason) },
  ({ keyId, limits, reason }) =>
    Effect.gen(function* () {
      const change = yield* limitsChange(limits)
      const store = yield* KeyLimitStore
      const { counts, key } =
        Object.keys(change).length === 0
          ? yield* store.read(keyId)
          : yield* store.change(keyId, change, yield* operatorFor("keys limits", reason))
      return {
        document: { ...keyDocument(key), limit_usage: usageDocument(key.limits, counts) },
        text: isUnlimited(key.limits)
          ? `The key "${key.name}" (${key.id}) has no limits.`
          : [`The limits of the key "${key.name}" (${key.id}):`, limitsTable(key.limits, counts)].join("\n\n")
      } satisfies Report
    })
)

const timestampOrDash = (time: Date | undefined): string => (time === undefined ? "-" : timestamp(time))

const revoke = reportCommand(
  "revoke",
  "Revoke a key permanently. Every server refuses later requests with this key.",
  { keyId, reason: Options.optional(reason), yes },
  ({ keyId, reason, yes }) =>
    Effect.gen(function* () {
      yield* confirm(`Revoke the key ${keyId}? Every server will then refuse requests with this key.`, yes)
      const operator = yield* operatorFor("keys revoke", reason)
      const key = yield* Effect.flatMap(ApiKeys, (keys) => keys.revoke(keyId, operator))
      return {
        document: keyDocument(key),
        text: `The key "${key.name}" (${key.id}) has been revoked since ${timestamp(key.revokedAt ?? key.createdAt)}.`
      } satisfies Report
    })
)

export const keys = Command.make("keys").pipe(
  Command.withDescription("Manage the API keys of users."),
  Command.withSubcommands([create, list, limits, revoke])
)

const keyDocument = (key: ApiKey) => ({
  key_id: key.id,
  user_id: key.userId,
  name: key.name,
  public_id: key.publicId,
  created_at: timestamp(key.createdAt),
  revoked: key.revokedAt !== undefined,
  revoked_at: key.revokedAt === undefined ? null : timestamp(key.revokedAt),
  limits: limitsDocument(key.limits)
})

/**
 * Returns a function from the secret of a new key to a curl command that calls a chat model with this key. If the
 * catalog has no chat model, or if the address of the server is unknown, the function returns a hint instead.
 */
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
    return () => "  The catalog has no chat model yet. Apply a catalog file with: tollgate catalog apply FILE"
  }
  if (serverAddress === undefined) {
    return () => "  PORT is 0, so no command can be shown here. The server logs its address at its start."
  }
  const body = { model: model.publicName, stream: true, messages: [{ role: "user", content: "Say hello." }] }
  return (secret: string) =>
    [
      `  curl -N ${serverAddress}/v1/chat/completions \\`,
      `    -H "Authorization: Bearer ${secret}" -H "Content-Type: application/json" \\`,
      `    -d '${JSON.stringify(body).replaceAll("'", "\\u0027")}'`
    ].join("\n")
})
