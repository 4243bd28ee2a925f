/**
 * Several nodes as one: asked in the order of the settings, those that failed a short while ago last. Every answer
 * to one question comes from a node of its own, so that a quorum is one.
 */
import type * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { BscNode } from "./BscNode.ts"
import { RpcFailed } from "./JsonRpc.ts"

export type Question<A> = (node: BscNode) => Effect.Effect<A, RpcFailed>

export interface Failover {
  /** The answers of so many nodes; fails when too few have one. */
  readonly ask: <A>(wanted: number, question: Question<A>) => Effect.Effect<Arr.NonEmptyReadonlyArray<A>, RpcFailed>
}

/** A node that failed is asked last for so long. */
const DEFERRAL_MILLIS = 30_000

export const make = (nodes: ReadonlyArray<BscNode>): Failover => {
  const lastUntilMillis = new Map<BscNode, number>()

  const put = <A>(question: Question<A>, node: BscNode): Effect.Effect<A, RpcFailed> =>
    Effect.andThen(node.identify, question(node)).pipe(Effect.tapError((failure) => noteFailure(node, failure)))

  const noteFailure = (node: BscNode, failure: RpcFailed) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      // A node that refuses one call may well answer the others.
      if (failure.kind === "rejected") return Effect.void
      const isNews = (lastUntilMillis.get(node) ?? 0) <= now
      lastUntilMillis.set(node, now + DEFERRAL_MILLIS)
      return isNews ? Effect.logWarning("a BSC node does not serve", { detail: failure.detail }) : Effect.void
    })

  const gather = <A>(
    wanted: number,
    question: Question<A>,
    candidates: ReadonlyArray<BscNode>,
    failures: ReadonlyArray<RpcFailed>
  ): Effect.Effect<ReadonlyArray<A>, RpcFailed> =>
    Effect.gen(function* () {
      if (wanted === 0) return []
      if (candidates.length < wanted) return yield* together(failures)
      const asked = yield* Effect.forEach(candidates.slice(0, wanted), (node) => Effect.either(put(question, node)), {
        concurrency: "unbounded"
      })
      const answers = asked.flatMap((each) => (Either.isRight(each) ? [each.right] : []))
      const failed = asked.flatMap((each) => (Either.isLeft(each) ? [each.left] : []))
      const rest = yield* gather(wanted - answers.length, question, candidates.slice(wanted), [...failures, ...failed])
      return [...answers, ...rest]
    })

  return {
    ask: (wanted, question) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const isLast = (node: BscNode) => ((lastUntilMillis.get(node) ?? 0) > now ? 1 : 0)
        const candidates = [...nodes].sort((a, b) => isLast(a) - isLast(b))
        const [first, ...more] = yield* gather(wanted, question, candidates, [])
        return first === undefined ? yield* together([]) : [first, ...more]
      })
  }
}

const together = (failures: ReadonlyArray<RpcFailed>): RpcFailed =>
  new RpcFailed({
    kind: failures[0]?.kind ?? "not_configured",
    code: failures[0]?.code,
    detail: failures.length === 0 ? "too few nodes" : failures.map(({ detail }) => detail).join("; ")
  })
