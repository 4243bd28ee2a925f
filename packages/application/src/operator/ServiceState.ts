/**
 * Checks the deployment for operators, and shows the state of the providers in this node.
 */
import type { Breaker } from "@tollgate/domain/inference/Breaker"
import * as Effect from "effect/Effect"
import { CurrentCatalog } from "../catalog/Catalogs.ts"
import { Upstreams } from "../inference/Upstreams.ts"
import { Database } from "../operations/Database.ts"
import { type NodeId, Nodes } from "../operations/Nodes.ts"
import { catalogFindings, hasSchema, holdFindings, imageFindings, paymentFindings, stateFindings } from "./Diagnosis.ts"
import { type Finding, fail, ok, warn } from "./Finding.ts"
import { OperatorPolicy } from "./OperatorSessions.ts"

export interface ProviderState {
  readonly name: string
  readonly breaker: Breaker["state"]
  /** The number of open exchanges of this node with the provider. */
  readonly openExchanges: number
}

export interface NodeProviders {
  readonly nodeId: NodeId
  readonly providers: ReadonlyArray<ProviderState>
}

/** Returns the providers of the catalog, with their state in this node. Each node has its own circuit breakers. */
export const readProviders: Effect.Effect<NodeProviders, never, CurrentCatalog | Upstreams | Nodes> = Effect.gen(
  function* () {
    const loads = new Map((yield* Upstreams).loads().map((load) => [load.provider, load]))
    const { providers } = (yield* CurrentCatalog).get()
    return {
      nodeId: (yield* Nodes).self,
      providers: [...providers.values()].map(({ name }) => ({
        name,
        breaker: loads.get(name)?.breaker ?? "closed",
        openExchanges: loads.get(name)?.open ?? 0
      }))
    }
  }
)

const TIMEOUT = "10 seconds"

const unreachable = fail("database", `no response within ${TIMEOUT}`, "Check the database and the connections to it.")

const breakerFinding = ({ breaker, name }: ProviderState): Finding =>
  breaker === "closed"
    ? ok(`provider ${name}`, "the circuit breaker is closed")
    : warn(
        `provider ${name}`,
        `the circuit breaker is ${breaker === "open" ? "open" : "half open"}, because requests to the provider failed`,
        "Requests use the other routes of their models. Check the provider and its API key."
      )

/**
 * Checks the catalog, the holds and the image reviews. A provider is checked by the state of its circuit breaker in
 * this node.
 */
const tableFindings = Effect.gen(function* () {
  const { providers } = yield* readProviders
  const breakerOf = (name: ProviderState["name"]): ProviderState =>
    providers.find((provider) => provider.name === name) ?? { name, breaker: "closed", openExchanges: 0 }
  return [
    ...(yield* catalogFindings(({ name }) => breakerFinding(breakerOf(name)))),
    ...(yield* holdFindings),
    ...(yield* imageFindings)
  ]
})

/**
 * Runs the checks of `Diagnosis.ts`, which `tollgate doctor` runs too. While a migration is missing or a newer release
 * has changed the schema, the checks that read tables are left out, because their queries could fail.
 */
export const runChecks = Effect.gen(function* () {
  const { isProduction } = yield* OperatorPolicy
  const state = yield* Effect.flatMap(Database, ({ state }) => Effect.timeoutOption(state, TIMEOUT))
  const stored =
    state._tag === "None"
      ? [unreachable]
      : [...stateFindings(state.value, isProduction), ...(hasSchema(state.value) ? yield* tableFindings : [])]
  return [...stored, ...(yield* paymentFindings)]
})
