/**
 * A seeded generator of random numbers (sfc32). All decisions of a simulated history come from one generator, so the
 * seed reproduces the history.
 */
export class Random {
  #a: number
  #b: number
  #c: number
  #counter = 1

  constructor(seed: number) {
    this.#a = 0x9e3779b9
    this.#b = seed >>> 0
    this.#c = Math.floor(seed / 2 ** 32) >>> 0
    for (let i = 0; i < 12; i++) this.next()
  }

  /** Returns a number of at least 0 and below 1. */
  next(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0
    this.#counter = (this.#counter + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum
    return (sum >>> 0) / 2 ** 32
  }

  integer(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1))
  }

  /** Returns a number of at least `least` and below `most`. Small numbers are more frequent than large numbers. */
  skewed(least: number, most: number): number {
    return least + (most - least) * this.next() ** 3
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<A>(choices: ReadonlyArray<A>): A {
    const choice = choices[Math.floor(this.next() * choices.length)]
    if (choice === undefined) throw new Error("nothing to pick from")
    return choice
  }
}
