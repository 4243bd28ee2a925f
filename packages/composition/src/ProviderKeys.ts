/**
 * Finds the API keys of providers in the environment. The catalog names the variable of each key.
 *
 * The catalog is stored in the database. A variable that is a setting of the server is therefore never used as a key of
 * a provider. Otherwise a person who can write to the database could name `JWT_SECRET` as the key of a provider on
 * their own host. The server would then send the secret to this host.
 */
import type { ProviderKeys } from "@tollgate/adapters-upstream/inference/UndiciUpstreams"
import type { Environment as Variables } from "@tollgate/application/operations/EnvironmentSchema"
import * as Redacted from "effect/Redacted"
import { Environment } from "./ServerConfig.ts"

/** Returns true if a variable of this name can contain the API key of a provider. */
export const canBeProviderKey = (name: string): boolean => !Object.hasOwn(Environment.fields, name)

/**
 * Returns a function that finds the API key of a provider by the name of its variable. `defaults` has the values of
 * variables that are not set.
 */
export const providerKeysIn = (environment: Variables, defaults: Variables = {}): ProviderKeys => {
  // Every request needs a key, and a new `Redacted` each time would be expensive for the garbage collector.
  const known = new Map<string, Redacted.Redacted<string>>()
  const read = (name: string): Redacted.Redacted<string> | undefined => {
    if (!canBeProviderKey(name)) return undefined
    const [value] = [environment, defaults].flatMap((variables) => {
      // A text that was read from a file often ends with a line break, which a header cannot contain.
      const key = Object.hasOwn(variables, name) ? variables[name]?.trim() : undefined
      return key ? [key] : []
    })
    return value === undefined ? undefined : Redacted.make(value)
  }
  return (name) => {
    const key = known.get(name) ?? read(name)
    if (key !== undefined) known.set(name, key)
    return key
  }
}
