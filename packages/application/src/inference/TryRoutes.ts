/**
 * The order in which the routes of a request are tried, and which failure is told when all of them fail.
 */
import { type Candidate, orderCandidates } from "@tollgate/domain/catalog/Catalog"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type { AttemptError } from "./RelayConnection.ts"

/** By priority, and by weight where that is equal: drawn anew for every request. */
export const inOrder = (candidates: ReadonlyArray<Candidate>): Effect.Effect<ReadonlyArray<Candidate>> =>
  Effect.map(
    Effect.forEach(candidates, () => Random.next),
    (draws) => orderCandidates(candidates, draws)
  )

/** The most telling of two failures: what a supplier did, before our own refusal to ask one; of equals the later. */
export const mostTelling = (told: AttemptError | undefined, error: AttemptError): AttemptError =>
  told === undefined || weight(error) >= weight(told) ? error : told

const weight = ({ _tag }: AttemptError): number => (_tag === "CircuitOpen" ? 0 : _tag === "Overloaded" ? 1 : 2)
