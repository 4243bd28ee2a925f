/**
 * Simulates the clock, and runs the events that are scheduled at times of this clock.
 *
 * Each event belongs to a process, or to the world outside the processes. While an event of a process is handled, the
 * timers, the clocks and the random numbers of Node.js come from the simulation, so production code runs unchanged. A
 * killed process handles no further event. A stalled process handles its events later.
 */
import type { Random } from "./Random.ts"

/** One simulated operating system process. Its clock can run faster or slower than the clock of the database. */
export class Process {
  readonly name: string
  readonly clockRate: number
  alive = true
  stalledUntil = 0
  /** The total time in milliseconds for which the process was stalled. */
  stalledMillis = 0

  constructor(name: string, clockRate: number) {
    this.name = name
    this.clockRate = clockRate
  }

  /** Stalls the process for `millis`, as if the operating system gave the process no processor time. */
  stall(now: number, millis: number): void {
    const until = Math.max(this.stalledUntil, now + millis)
    this.stalledMillis += until - Math.max(this.stalledUntil, now)
    this.stalledUntil = until
  }
}

export class Event {
  readonly process: Process | undefined
  at: number
  order: number
  /** Undefined after the event was cancelled. */
  run: (() => void) | undefined

  constructor(at: number, order: number, process: Process | undefined, run: () => void) {
    this.at = at
    this.order = order
    this.process = process
    this.run = run
  }

  // The following members are the members of a timer of Node.js.
  unref(): this {
    return this
  }
}

/** The real function, because the simulation replaces the global one. */
const atNextTurn = setImmediate

/**
 * The number of callbacks in one turn of the event loop. Each turn asks the operating system for events, which is slow.
 */
const CALLBACKS = 100

/**
 * Waits until no microtask is left. Between two callbacks of `setImmediate` in one turn of the event loop, Node.js runs
 * all microtasks and reports unhandled rejections.
 */
class Microtasks {
  /** The callbacks of this turn that have not run. */
  #callbacks = 0
  #resolve: (() => void) | undefined

  afterAll(): Promise<void> {
    if (this.#callbacks === 0) {
      this.#callbacks = CALLBACKS
      for (let i = 0; i < CALLBACKS; i++) atNextTurn(this.#continue)
    }
    return new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  readonly #continue = (): void => {
    this.#callbacks -= 1
    const resolve = this.#resolve
    this.#resolve = undefined
    resolve?.()
  }
}
const microtasks = new Microtasks()

const MAX_EVENTS = 200_000

export class SimulatedTime {
  readonly random: Random
  now = 0
  /** The process whose event is being handled. */
  current: Process | undefined
  events = 0
  readonly #heap: Array<Event> = []
  #order = 0

  constructor(random: Random) {
    this.random = random
  }

  after(millis: number, process: Process | undefined, run: () => void): Event {
    return this.at(this.now + millis, process, run)
  }

  /** Schedules an event at an instant. Events of one instant keep the order in which they were scheduled. */
  at(atMillis: number, process: Process | undefined, run: () => void): Event {
    const event = new Event(atMillis, this.#order++, process, run)
    this.#push(event)
    return event
  }

  /** Schedules a timer of the current process. A timer is never early, and up to 20 ms late. */
  timer(run: () => void, millis: number): Event {
    const process = this.current
    const late = this.random.chance(0.05) ? this.random.skewed(0, 20) : this.random.next()
    return this.after(Math.max(1, millis) / (process?.clockRate ?? 1) + late, process, run)
  }

  cancel(event: Event): void {
    event.run = undefined
  }

  /** The reading of the monotonic clock of the current process. */
  get monotonicMillis(): number {
    return this.now * (this.current?.clockRate ?? 1)
  }

  /**
   * Handles events until `isOver` returns true, `deadlineMillis` is reached or no event is left. Returns whether
   * `isOver` returned true.
   */
  async run(deadlineMillis: number, isOver: () => boolean, onStep: () => void): Promise<boolean> {
    while (!isOver()) {
      const event = this.#pop()
      if (event === undefined) return false
      if (event.run === undefined || event.process?.alive === false) continue
      if (event.at > deadlineMillis) return false
      this.now = event.at
      const { process, run } = event
      if (process !== undefined && process.stalledUntil > this.now) {
        event.at = process.stalledUntil
        event.order = this.#order++
        this.#push(event)
        continue
      }
      if (++this.events > MAX_EVENTS) throw new Error("the history does not end")
      this.current = process
      run()
      // Promises belong to processes only, so the microtasks of an event belong to its process.
      if (process !== undefined) await microtasks.afterAll()
      this.current = undefined
      onStep()
    }
    return true
  }

  #push(event: Event): void {
    const heap = this.#heap
    let i = heap.length
    heap.push(event)
    while (i > 0) {
      const above = (i - 1) >> 1
      const parent = heap[above] as Event
      if (isBefore(parent, event)) break
      heap[i] = parent
      i = above
    }
    heap[i] = event
  }

  #pop(): Event | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined || heap.length === 0) return first
    let i = 0
    for (;;) {
      let below = 2 * i + 1
      if (below >= heap.length) break
      if (below + 1 < heap.length && isBefore(heap[below + 1] as Event, heap[below] as Event)) below++
      const child = heap[below] as Event
      if (isBefore(last, child)) break
      heap[i] = child
      i = below
    }
    heap[i] = last
    return first
  }
}

const isBefore = (a: Event, b: Event): boolean => a.at < b.at || (a.at === b.at && a.order < b.order)
