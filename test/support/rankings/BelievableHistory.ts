/**
 * Computes a realistic usage history of 90 days with formulas, so it is the same in every run. The tokens of adjacent
 * periods add up to the tokens of the whole period.
 *
 * The authors and models do not exist.
 */

import * as Tokens from "@tollgate/domain/money/Tokens"
import type { HistoryQuery, ModelHistory, UsageHistory } from "@tollgate/domain/rankings/UsageHistory"

const HOUR = 3_600_000
const DAYS = 90

/** The instant at which every test computes the rankings. */
export const now = new Date("2026-11-20T09:42:17.512Z")
const begin = new Date("2026-08-22T02:00:00.000Z")

interface Life {
  readonly name: string
  readonly slug: string
  readonly author: string
  /** The usage after adoption, in millions of tokens per day. */
  readonly daily: number
  /** The age of the model in days. */
  readonly age: number
  /** The number of days until usage reaches half of its final level. If absent, usage starts at its final level. */
  readonly pace?: number
  /** The number of days since usage began to fall. */
  readonly leaving?: number
  readonly retired?: true
  readonly hidden?: true
  readonly speed?: readonly [tokensPerSecond: number, ttftMillis: number, samples: number]
}

const lives: ReadonlyArray<Life> = [
  {
    name: "Meridian 4",
    slug: "meridian-4",
    author: "Meridian Labs",
    daily: 1_630,
    age: 90,
    leaving: 9,
    speed: [88.4, 642, 61_204]
  },
  {
    name: "Kestrel Swift 2",
    slug: "kestrel-swift-2",
    author: "Kestrel",
    daily: 1_480,
    age: 58,
    pace: 16,
    speed: [212.6, 238, 88_410]
  },
  {
    name: "Northwind Pro",
    slug: "northwind-pro",
    author: "Northwind",
    daily: 940,
    age: 90,
    speed: [71.3, 811, 24_118]
  },
  {
    name: "Foundry Coder 32B",
    slug: "foundry/coder-32b",
    author: "Open Foundry",
    daily: 1_250,
    age: 31,
    pace: 13,
    speed: [134.9, 402, 30_877]
  },
  {
    name: "Meridian 4 Mini",
    slug: "meridian-4-mini",
    author: "Meridian Labs",
    daily: 610,
    age: 90,
    speed: [168.2, 296, 41_050]
  },
  {
    name: "Sable R2",
    slug: "sable-r2",
    author: "Sable Research",
    daily: 540,
    age: 44,
    pace: 7,
    speed: [54.7, 1_384, 12_660]
  },
  {
    name: "Northwind Flash",
    slug: "northwind-flash",
    author: "Northwind",
    daily: 430,
    age: 76,
    pace: 20,
    speed: [241.8, 187, 36_402]
  },
  { name: "Lumen 3", slug: "lumen-3", author: "Lumen", daily: 330, age: 90, leaving: 30, speed: [96.1, 520, 9_204] },
  {
    name: "Kestrel Large",
    slug: "kestrel-large",
    author: "Kestrel",
    daily: 260,
    age: 90,
    leaving: 40,
    speed: [62.5, 904, 5_120]
  },
  {
    name: "Foundry 70B Instruct",
    slug: "foundry/70b-instruct",
    author: "Open Foundry",
    daily: 205,
    age: 90,
    speed: [78.8, 588, 4_480]
  },
  {
    name: "Lumen 3 Air",
    slug: "lumen-3-air",
    author: "Lumen",
    daily: 160,
    age: 66,
    pace: 12,
    speed: [187.4, 244, 3_902]
  },
  {
    name: "Meridian 5 Preview",
    slug: "meridian-5-preview",
    author: "Meridian Labs",
    daily: 2_900,
    age: 4.4,
    pace: 2,
    speed: [92.0, 590, 2_210]
  },
  { name: "Hearth 8B", slug: "hearth-8b", author: "Hearth", daily: 88, age: 90, speed: [226.3, 171, 1_840] },
  { name: "Sable R1", slug: "sable-r1", author: "Sable Research", daily: 640, age: 90, leaving: 38, retired: true },
  { name: "Aurora Chat XL", slug: "aurora/chat-xl", author: "Aurora", daily: 52, age: 90, speed: [58.0, 1_020, 640] },
  {
    name: "Hearth Translate",
    slug: "hearth-translate",
    author: "Hearth",
    daily: 31,
    age: 23,
    pace: 9,
    speed: [142.7, 330, 412]
  },
  { name: "Aurora Chat", slug: "aurora/chat", author: "Aurora", daily: 18, age: 90, leaving: 20 },
  { name: "Tern Nano", slug: "tern-nano", author: "Tern", daily: 9, age: 12, pace: 5 },
  { name: "House Model", slug: "house-model", author: "House", daily: 74, age: 90, hidden: true }
]

/** Returns a number from 0 to 1 that looks random but is always the same for the same arguments. */
const noise = (seed: number, at: number): number => {
  const wave = Math.sin(seed * 127.1 + at * 311.7) * 43_758.5453
  return wave - Math.floor(wave)
}

const tokensOfHour = (life: Life, seed: number, hour: number): number => {
  const at = begin.getTime() + hour * HOUR
  const ago = (now.getTime() - at) / (24 * HOUR)
  if (ago > life.age) return 0
  const jakarta = new Date(at + 7 * HOUR)
  const known = life.pace === undefined ? 1 : 1 / (1 + Math.exp((2.2 * (life.pace - (life.age - ago))) / life.pace))
  const left = life.leaving === undefined || ago > life.leaving ? 1 : Math.exp(-3.2 * (1 - ago / life.leaving))
  const ending = life.retired && ago < 5 ? 0 : 1
  const daytime = 1 + 0.62 * Math.sin(((jakarta.getUTCHours() - 8.5) / 24) * 2 * Math.PI)
  const weekend = jakarta.getUTCDay() % 6 === 0 ? 0.66 : 1.06
  const growth = 0.55 + 0.45 * (1 - ago / DAYS)
  const mood = (0.85 + 0.3 * noise(seed, Math.floor(hour / 24))) * (0.86 + 0.28 * noise(seed + 40, hour))
  return Math.floor((life.daily * 1e6 * known * left * ending * daytime * weekend * growth * mood) / 24)
}

/** For each model, a function that returns its tokens from the start of the history to an instant. */
const totals = lives.map((life, seed) => {
  const hours = [0]
  for (let hour = 0; hour < (DAYS + 1) * 24; hour++) hours.push((hours[hour] ?? 0) + tokensOfHour(life, seed, hour))
  return (until: Date): number => {
    const passed = Math.max(0, (until.getTime() - begin.getTime()) / HOUR)
    const whole = Math.min(Math.floor(passed), hours.length - 2)
    const before = hours[whole] ?? 0
    return before + Math.floor(((hours[whole + 1] ?? 0) - before) * (passed - whole))
  }
})

const historyOf = (life: Life, index: number, { cuts }: HistoryQuery): ModelHistory => {
  const until = totals[index] ?? (() => 0)
  const [tps, ttft, samples] = life.speed ?? [0, 0, 0]
  return {
    publicName: life.slug,
    displayName: life.name,
    author: life.author,
    hidden: life.hidden ?? false,
    retired: life.retired ?? false,
    tokens: cuts.slice(1).map((cut, i) => Tokens.Tokens(BigInt(until(cut) - until(cuts[i] ?? cut)))),
    speed: samples === 0 ? undefined : { samples, decitokensPerSecondP50: Math.round(tps * 10), ttftMillisP50: ttft }
  }
}

export const read = (ask: (firstUse: Date | undefined) => HistoryQuery): UsageHistory => {
  const question = ask(begin)
  const models = lives.map((life, index) => historyOf(life, index, question))
  return { firstUse: begin, cuts: question.cuts, models }
}
