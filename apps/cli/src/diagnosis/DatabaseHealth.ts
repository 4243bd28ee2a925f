/**
 * Checks the database server and the schema, the catalog, the peppers of API keys, the holds and the image reviews.
 */
import type { Catalogs } from "@tollgate/application/catalog/Catalogs"
import type { KeyPeppers } from "@tollgate/application/customer/KeyPeppers"
import type { ImageReviews } from "@tollgate/application/images/ImageReviews"
import type { OpenHolds } from "@tollgate/application/ledger/OpenHolds"
import type { Database } from "@tollgate/application/operations/Database"
import {
  catalogFindings,
  hasSchema,
  holdFindings,
  imageFindings,
  stateFindings
} from "@tollgate/application/operator/Diagnosis"
import { type Finding, fail, ok, warn } from "@tollgate/application/operator/Finding"
import { canBeProviderKey, providerKeysIn } from "@tollgate/composition/ProviderKeys"
import type { Provider } from "@tollgate/domain/catalog/Provider"
import * as Effect from "effect/Effect"
import type { CommandFailed } from "../exit/CommandFailed.ts"
import { reachDatabase } from "../runtime/ReachDatabase.ts"
import { Settings } from "../runtime/Settings.ts"
import { findingOnFailure } from "./FindingOnFailure.ts"
import { keyPepperFindings } from "./KeyPepperHealth.ts"

export const databaseFindings: Effect.Effect<
  ReadonlyArray<Finding>,
  CommandFailed,
  Database | Catalogs | KeyPeppers | OpenHolds | ImageReviews | Settings
> = Effect.gen(function* () {
  const { NODE_ENV } = yield* Settings
  const state = yield* reachDatabase
  const isProduction = NODE_ENV === "production"
  const findings = stateFindings(state, isProduction)
  if (!hasSchema(state)) return findings
  return [
    ...findings,
    ...(yield* findingOnFailure("catalog", "The catalog cannot be read.")(catalogFindings(providerKey(isProduction)))),
    ...(yield* findingOnFailure(
      "key peppers",
      "The API keys and webhook secrets of each pepper cannot be counted."
    )(keyPepperFindings)),
    ...(yield* findingOnFailure("holds", "The holds cannot be read.")(holdFindings)),
    ...(yield* findingOnFailure("images", "The image reviews cannot be read.")(imageFindings))
  ]
})

/**
 * The environment variable with the API key of the simulated provider. A server with the demo works without this
 * variable. In production there is no demo, so the variable must be set.
 */
const DEMO_KEY_ENV = "SIMULATOR_API_KEY"

/**
 * Checks whether the provider's API key is set in the environment of this command. The environment of the servers may
 * differ.
 */
const providerKey =
  (isProduction: boolean) =>
  ({ apiKeyEnv, name }: Provider): Finding => {
    const check = `provider ${name}`
    if (!canBeProviderKey(apiKeyEnv)) {
      const detail = `${apiKeyEnv} is a setting of the server, which the server never sends to a provider`
      return fail(check, detail, "Name another variable in api_key_env of the catalog file.")
    }
    if (providerKeysIn(process.env)(apiKeyEnv) !== undefined) return ok(check, `${apiKeyEnv} is set`)
    if (apiKeyEnv === DEMO_KEY_ENV && !isProduction) return ok(check, "the simulated provider of the demo")
    return warn(
      check,
      `${apiKeyEnv} is ${process.env[apiKeyEnv] ? "blank" : "not set"} in this shell`,
      `The servers must have ${apiKeyEnv} in their environment. If the provider needs no key, set it to any text.`
    )
  }
