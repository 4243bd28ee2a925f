/**
 * Sends a query to BSC nodes in the order of the settings, with recently failed nodes last. Each result of a query
 * comes from a different node, so that one node alone cannot satisfy a quorum of two or more.
 */
import type * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { BscNode } from "./BscNode.ts"
import { RpcFailed } from "./JsonRpc.ts"

export type Query<A> = (node: BscNode) => Effect.Effect<A, RpcFailed>

export interface BscNodePool {
  /** Returns the results of `wanted` nodes. Fails if fewer nodes return a result. */
  readonly ask: <A>(wanted: number, query: Query<A>) => Effect.Effect<Arr.NonEmptyReadonlyArray<A>, RpcFailed>
}

/** The time in milliseconds for which a failed node is called after the nodes that did not fail. */
const DEFERRAL_MILLIS = 30_000
/**
 * A node whose query is ended after at least this time counts as failed. The time is longer than the timeout of the
 * search for evidence, and shorter than the timeouts of the queries that decide or open a payment (DepositReader,
 * BscPayments).
 */
const SLOW_MILLIS = 3_000

export const make = (nodes: ReadonlyArray<BscNode>): BscNodePool => {
  const deferredUntilMillis = new Map<BscNode, number>()

  const run = <A>(query: Query<A>, node: BscNode): Effect.Effect<A, RpcFailed> =>
    Effect.flatMap(Clock.currentTimeMillis, (startedAt) =>
      Effect.andThen(node.identify, query(node)).pipe(
        Effect.tapError((failure) => noteFailure(node, failure)),
        Effect.onInterrupt(() => noteSlowness(node, startedAt))
      )
    )

  /**
   * If the caller ends a query after {@link SLOW_MILLIS} or later, the node counts as failed. Each call of a slow node
   * can succeed just before its timeout, so that only the timeout of the caller ends the query.
   */
  const noteSlowness = (node: BscNode, startedAt: number) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      now - startedAt < SLOW_MILLIS ? Effect.void : noteFailure(node, tooSlow(node))
    )

  const noteFailure = (node: BscNode, failure: RpcFailed) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      // A node that refuses one call can still serve other calls, so it keeps its place in the order.
      if (failure.kind === "rejected") return Effect.void
      const isNews = (deferredUntilMillis.get(node) ?? 0) <= now
      deferredUntilMillis.set(node, now + DEFERRAL_MILLIS)
      return isNews
        ? Effect.logWarning("a BSC node failed; for 30 s it is called after the other nodes", {
            detail: failure.detail
          })
        : Effect.void
    })

  const gather = <A>(
    wanted: number,
    query: Query<A>,
    candidates: ReadonlyArray<BscNode>,
    failures: ReadonlyArray<RpcFailed>
  ): Effect.Effect<ReadonlyArray<A>, RpcFailed> =>
    Effect.gen(function* () {
      if (wanted === 0) return []
      if (candidates.length < wanted) return yield* joined(failures)
      const asked = yield* Effect.forEach(candidates.slice(0, wanted), (node) => Effect.either(run(query, node)), {
        concurrency: "unbounded"
      })
      const results = asked.flatMap((each) => (Either.isRight(each) ? [each.right] : []))
      const failed = asked.flatMap((each) => (Either.isLeft(each) ? [each.left] : []))
      const rest = yield* gather(wanted - results.length, query, candidates.slice(wanted), [...failures, ...failed])
      return [...results, ...rest]
    })

  return {
    ask: (wanted, query) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const isDeferred = (node: BscNode) => ((deferredUntilMillis.get(node) ?? 0) > now ? 1 : 0)
        const candidates = [...nodes].sort((a, b) => isDeferred(a) - isDeferred(b))
        const [first, ...more] = yield* gather(wanted, query, candidates, [])
        return first === undefined ? yield* joined([]) : [first, ...more]
      })
  }
}

const tooSlow = ({ name }: BscNode): RpcFailed =>
  new RpcFailed({ kind: "timeout", code: undefined, detail: `${name}: no result before the timeout of the query` })

const joined = (failures: ReadonlyArray<RpcFailed>): RpcFailed =>
  new RpcFailed({
    kind: failures[0]?.kind ?? "not_configured",
    code: failures[0]?.code,
    detail: failures.length === 0 ? "too few nodes are configured" : failures.map(({ detail }) => detail).join("; ")
  })
