import { ConnectionShares } from "@tollgate/adapters-postgres/client/ConnectionShares"
import { CurrentParty } from "@tollgate/application/operations/CurrentParty"
import { Clock, type Duration, Effect, Fiber, Option } from "effect"
import { describe, expect, it } from "vitest"

/** Acquires connections for parties, and records the party of each connection in use. */
class Users {
  readonly shares: ConnectionShares
  readonly using: Array<string> = []
  readonly #fibers: Array<{ readonly party: string; readonly fiber: Fiber.RuntimeFiber<void> }> = []
  readonly #ends: Array<{ readonly party: string; readonly end: () => void }> = []

  constructor(connections: number) {
    this.shares = new ConnectionShares(connections)
  }

  async start(party: string | undefined): Promise<void> {
    const name = party ?? "background"
    const use = Effect.uninterruptible(
      Effect.gen(this, function* () {
        const release = Option.getOrThrow(yield* this.shares.take)
        this.using.push(name)
        yield* Effect.async<void>((resume) => {
          this.#ends.push({ party: name, end: () => resume(Effect.void) })
        })
        this.using.splice(this.using.indexOf(name), 1)
        yield* release
      })
    )
    this.#fibers.push({ party: name, fiber: Effect.runFork(Effect.provideService(use, CurrentParty, party)) })
    await turn()
  }

  /** Ends the use of the first connection that the party uses. */
  async end(party: string): Promise<void> {
    const [ended] = this.#ends.splice(
      this.#ends.findIndex((use) => use.party === party),
      1
    )
    ended?.end()
    await turn()
  }

  async interrupt(party: string): Promise<void> {
    const latest = this.#fibers.findLast((request) => request.party === party)
    latest?.fiber.unsafeInterruptAsFork(latest.fiber.id())
    await turn()
  }

  get sorted(): string {
    return [...this.using].sort().join(" ")
  }
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 1))

describe("database connections", () => {
  it("are given to one party only up to half of the pool", async () => {
    const users = new Users(4)
    for (let i = 0; i < 10; i++) await users.start("a")
    expect(users.sorted).toBe("a a")
    await users.start("b")
    expect(users.sorted).toBe("a a b")
  })

  it("are given in turn to the parties that wait", async () => {
    const users = new Users(2)
    for (const party of ["a", "b", "c", "c", "d"]) await users.start(party)
    expect(users.sorted).toBe("a b")
    await users.end("a")
    expect(users.sorted).toBe("b c")
    await users.end("c")
    expect(users.sorted).toBe("b d")
    await users.end("d")
    expect(users.sorted).toBe("b c")
  })

  it("are not limited for background tasks", async () => {
    const users = new Users(2)
    for (let i = 0; i < 3; i++) await users.start(undefined)
    await users.start("a")
    expect(users.sorted).toBe("a background background background")
  })

  it("are not given to a waiting request that was interrupted", async () => {
    const users = new Users(2)
    for (const party of ["a", "a"]) await users.start(party)
    await users.interrupt("a")
    await users.end("a")
    expect(users.sorted).toBe("")
    await users.start("a")
    expect(users.sorted).toBe("a")
  })

  it("are given after a release to each waiting party that may use another one", async () => {
    const users = new Users(6)
    for (const party of ["a", "a", "b", "b", "b", "a"]) await users.start(party)
    expect(users.sorted).toBe("a a b b")
    await users.end("a")
    expect(users.sorted).toBe("a a b b b")
  })

  it.each([
    ["its wait times out", "timeout"],
    ["it is interrupted", "interruption"]
  ] as const)("return to the pool if one is given to a request while %s", async (_, end) => {
    const shares = new ConnectionShares(2)
    const timeouts: Array<() => void> = []
    const asParty = <A>(effect: Effect.Effect<A>) =>
      Effect.uninterruptible(effect).pipe(
        Effect.provideService(CurrentParty, "a"),
        Effect.withClock(clockThatEndsWith(timeouts))
      )
    const use = asParty(
      Effect.flatMap(
        shares.take,
        Option.getOrElse(() => Effect.void)
      )
    )
    const release = Option.getOrThrow(await Effect.runPromise(asParty(shares.take)))
    const waiting = Effect.runFork(use)
    await turn()
    if (end === "timeout") {
      for (const timeout of timeouts) timeout()
      Effect.runSync(release)
    } else {
      Effect.runSync(release)
      waiting.unsafeInterruptAsFork(waiting.id())
    }
    await Effect.runPromise(Fiber.await(waiting))
    const next = Effect.runFork(use)
    await turn()
    expect(next.unsafePoll()).not.toBeNull()
  })
})

/** A clock whose sleeps end when a test calls the functions in `ends`. */
const clockThatEndsWith = (ends: Array<() => void>): Clock.Clock => ({
  ...Clock.make(),
  sleep: (_: Duration.Duration) => Effect.async<void>((resume) => void ends.push(() => resume(Effect.void)))
})
