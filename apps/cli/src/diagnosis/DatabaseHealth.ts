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
import { type Finding, ok, warn } from "@tollgate/application/operator/Finding"
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
  const findings = stateFindings(state, NODE_ENV === "production")
  if (!hasSchema(state)) return findings
  return [
    ...findings,
    ...(yield* findingOnFailure("catalog", "The catalog cannot be read.")(catalogFindings(providerKey))),
    ...(yield* findingOnFailure("key peppers", "The API keys cannot be counted.")(keyPepperFindings)),
    ...(yield* findingOnFailure("holds", "The holds cannot be read.")(holdFindings)),
    ...(yield* findingOnFailure("images", "The image reviews cannot be read.")(imageFindings))
  ]
})

/**
 * Checks whether the provider's API key is set in the environment of this command. The environment of the servers may
 * differ.
 */
const providerKey = ({ apiKeyEnv, baseUrl, name }: Provider): Finding => {
  const check = `provider ${name}`
  if (process.env[apiKeyEnv]) return ok(check, `${apiKeyEnv} is set`)
  // A URL with http:// belongs to a self-hosted model or to the simulated provider of the demo. Such a provider may
  // work without a key.
  if (baseUrl.startsWith("http://"))
    return ok(check, `${apiKeyEnv} is not set in this shell; the provider at ${baseUrl} may need no key`)
  return warn(
    check,
    `${apiKeyEnv} is not set in this shell`,
    `The servers must have ${apiKeyEnv} in their environment.`
  )
}
