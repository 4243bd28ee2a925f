/**
 * Divides the connections of a pool between the parties for which fibers work, so that one reseller with many
 * concurrent requests does not delay the others.
 *
 * A fiber without a party needs no share. The fibers of a party that has used up its share wait in a queue of this
 * party. When a connection becomes free, the queues are served in turn. `ResellerRequests` limits the requests of
 * resellers in progress, and therefore also the length of their queues.
 */
import { CurrentParty } from "@tollgate/application/operations/CurrentParty"
import { Shares } from "@tollgate/application/operations/Shares"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { STATEMENT_TIMEOUT_MILLIS } from "./PgSettings.ts"

/** Maximum time in a queue. It equals the statement timeout, after which a running statement frees its connection. */
const QUEUE_TIMEOUT = Duration.millis(STATEMENT_TIMEOUT_MILLIS)

interface Waiting {
  granted: boolean
  resume: () => void
}

export class ConnectionShares {
  readonly #shares: Shares<string>
  /** The queues of the parties, in the order in which the parties are served. */
  readonly #queues = new Map<string, Array<Waiting>>()

  constructor(connections: number) {
    this.#shares = new Shares(connections)
  }

  /**
   * Waits until the current party may use a connection. Returns the effect that ends this use, or none after a timeout.
   * The caller must run the returned effect in every case, so it calls `take` in an uninterruptible region.
   */
  readonly take: Effect.Effect<Option.Option<Effect.Effect<void>>> = Effect.flatMap(CurrentParty, (party) => {
    if (party === undefined) return Effect.succeedSome(Effect.void)
    const release = Effect.sync(() => this.#release(party))
    if (!this.#queues.has(party) && this.#shares.take(party)) return Effect.succeedSome(release)
    return this.#wait(party, release)
  })

  /** The number of fibers in the queues. */
  get waiting(): number {
    return [...this.#queues.values()].reduce((sum, queue) => sum + queue.length, 0)
  }

  #wait(party: string, release: Effect.Effect<void>): Effect.Effect<Option.Option<Effect.Effect<void>>> {
    return Effect.suspend(() => {
      const waiting = this.#enqueue(party)
      const granted = Effect.async<void>((resume) => {
        const continues = () => resume(Effect.void)
        waiting.resume = continues
        if (waiting.granted) waiting.resume()
      })
      // A connection can be granted after the timeout or the interruption, but before this fiber continues.
      const end = Effect.sync(() => {
        if (waiting.granted) return Option.some(release)
        this.#leave(party, waiting)
        return Option.none()
      })
      return Effect.timeoutOption(Effect.interruptible(granted), QUEUE_TIMEOUT).pipe(
        Effect.onInterrupt(() =>
          Effect.flatMap(
            end,
            Option.getOrElse(() => Effect.void)
          )
        ),
        Effect.zipRight(end)
      )
    })
  }

  #enqueue(party: string): Waiting {
    const waiting: Waiting = { granted: false, resume: () => {} }
    const queue = this.#queues.get(party)
    if (queue === undefined) this.#queues.set(party, [waiting])
    else queue.push(waiting)
    return waiting
  }

  #leave(party: string, waiting: Waiting): void {
    const left = this.#queues.get(party)?.filter((other) => other !== waiting) ?? []
    if (left.length === 0) this.#queues.delete(party)
    else this.#queues.set(party, left)
  }

  #release(party: string): void {
    this.#shares.release(party)
    // With one more free connection, the shares of several parties can grow.
    while (this.#grantNext()) {}
  }

  /** Grants a connection to the first queue whose party does not hold its share. Returns false if there is none. */
  #grantNext(): boolean {
    for (const [next, queue] of this.#queues) {
      if (!this.#shares.take(next)) continue
      const first = queue.shift()
      // The party is moved to the end of the map, so that the other parties are served before its next turn.
      this.#queues.delete(next)
      if (queue.length > 0) this.#queues.set(next, queue)
      if (first === undefined) this.#shares.release(next)
      else {
        first.granted = true
        first.resume()
      }
      return true
    }
    return false
  }
}
