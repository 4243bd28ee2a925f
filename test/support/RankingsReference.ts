/**
 * Computes the rankings slowly, as a reference, from every settlement by the rules of the API contract. It shares no
 * code with the gateway, and uses the platform's time zone data for the calendar.
 */

export interface RankedModel {
  readonly publicName: string
  readonly displayName: string
  readonly author: string
  readonly kind: "text" | "image" | "embedding"
  readonly hidden: boolean
  readonly retired: boolean
}

export interface RankedSettlement {
  readonly model: string
  readonly settledAt: Date
  readonly consumed: {
    readonly input: bigint
    readonly cacheWrite: bigint
    readonly cacheRead: bigint
    readonly output: bigint
  }
  readonly streamed: boolean
  readonly ending: "complete" | "client_gone" | "upstream_cut" | "balance_exhausted" | "failed" | "orphaned"
  readonly ttftMillis: number | null
  readonly durationMillis: number
}

interface Use {
  readonly at: number
  readonly model: RankedModel
  readonly tokens: bigint
  readonly settlement: RankedSettlement
}

const A_DAY = 24 * 60 * 60 * 1000

export const referenceRankings = (
  models: ReadonlyArray<RankedModel>,
  settlements: ReadonlyArray<RankedSettlement>,
  window: "day" | "week" | "month" | "all",
  now: Date
) => {
  const to = Date.parse(`${now.toISOString().slice(0, 16)}:00.000Z`)

  const rankedModels = models.filter((model) => model.kind !== "image")
  const uses: Array<Use> = []
  for (const settlement of settlements) {
    const model = rankedModels.find((candidate) => candidate.publicName === settlement.model)
    const at = settlement.settledAt.getTime()
    const { input, cacheWrite, output } = settlement.consumed
    if (model !== undefined && at < to) uses.push({ at, model, tokens: input + cacheWrite + output, settlement })
  }

  const earliest = uses.filter((use) => use.tokens > 0n).reduce((least, use) => Math.min(least, use.at), to)
  const dataSince = earliest < to ? jakartaDate(earliest) : null
  let from: number
  let previousFrom: number | null = null
  if (window === "all") {
    from = dataSince === null ? to : jakartaMidnight(dataSince)
  } else {
    const days = window === "day" ? 1 : window === "week" ? 7 : 30
    from = to - days * A_DAY
    previousFrom = from - days * A_DAY
  }

  const nowUsed = tokensByModel(uses, from, to)
  const beforeUsed = previousFrom === null ? null : tokensByModel(uses, previousFrom, from)

  const shown = rankedModels.filter((model) => !model.hidden && tokensOf(nowUsed, model) > 0n)
  shown.sort((a, b) => descending(tokensOf(nowUsed, a), tokensOf(nowUsed, b)) || ascending(a.publicName, b.publicName))
  const onLeaderboard = shown.slice(0, 50)
  const leaderboard = onLeaderboard.map((model, place) => {
    const tokens = tokensOf(nowUsed, model)
    const previous = beforeUsed === null ? null : tokensOf(beforeUsed, model)
    return {
      rank: place + 1,
      public_name: model.publicName,
      display_name: model.displayName,
      author: model.author,
      listed: !model.retired,
      tokens: Number(tokens),
      previous_tokens: previous === null ? null : Number(previous),
      change_pct: previous === null || previous === 0n ? null : percentChange(previous, tokens),
      is_new: previous === 0n
    }
  })
  const totalNow = add([...nowUsed.values()])
  const others = totalNow - add(onLeaderboard.map((model) => tokensOf(nowUsed, model)))

  const bucket = window === "day" ? "hour" : window === "all" ? "week" : "day"
  const keys = onLeaderboard.slice(0, 8).map((model) => model.publicName)
  const points = dataSince === null ? [] : pointsOf(uses, bucket, from, to, keys)

  return {
    schema_version: 1,
    generated_at: now.toISOString(),
    window,
    modality: "text",
    range: {
      from: new Date(from).toISOString(),
      to: new Date(to).toISOString(),
      previous_from: previousFrom === null ? null : new Date(previousFrom).toISOString(),
      data_since: dataSince
    },
    totals: {
      tokens: Number(totalNow),
      previous_tokens: beforeUsed === null ? null : Number(add([...beforeUsed.values()]))
    },
    leaderboard,
    other: { tokens: Number(others) },
    series: { bucket, keys, points },
    authors: authorsOf(shown, nowUsed),
    trending: trendingOf(rankedModels, uses, to),
    fastest: fastestOf(rankedModels, uses, to)
  }
}

export type RankingsDocument = ReturnType<typeof referenceRankings>

const pointsOf = (uses: ReadonlyArray<Use>, bucket: string, from: number, to: number, keys: ReadonlyArray<string>) => {
  const points: Array<{ start: string; partial: boolean; values: Record<string, number>; other: number }> = []
  let start = bucketStart(bucket, from)
  while (start < to) {
    const end = start + (bucket === "hour" ? A_DAY / 24 : bucket === "day" ? A_DAY : 7 * A_DAY)
    const values: Record<string, number> = Object.fromEntries(keys.map((key) => [key, 0]))
    let other = 0
    for (const use of uses) {
      if (use.at < start || use.at >= end || use.at < from || use.at >= to) continue
      const key = use.model.publicName
      if (keys.includes(key)) values[key] = (values[key] ?? 0) + Number(use.tokens)
      else other += Number(use.tokens)
    }
    points.push({ start: new Date(start).toISOString(), partial: start < from || to < end, values, other })
    start = end
  }
  return points
}

const authorsOf = (shown: ReadonlyArray<RankedModel>, used: ReadonlyMap<string, bigint>) => {
  const names = [...new Set(shown.map((model) => model.author))]
  const authors = names.map((author) => {
    const tokens = add(shown.filter((model) => model.author === author).map((model) => tokensOf(used, model)))
    return { author, tokens, share: 0n }
  })
  authors.sort((a, b) => descending(a.tokens, b.tokens) || ascending(a.author, b.author))
  const total = add(authors.map(({ tokens }) => tokens))
  for (const author of authors) author.share = (author.tokens * 10000n) / total
  // Because of rounding down, the sum can be too small. Each missing basis point goes to the largest remainder.
  while (authors.length > 0 && add(authors.map(({ share }) => share)) < 10000n) {
    const remainderOf = ({ tokens, share }: { tokens: bigint; share: bigint }) => tokens * 10000n - share * total
    const largest = authors.reduce((most, author) => (remainderOf(author) > remainderOf(most) ? author : most))
    largest.share += 1n
  }
  return authors.map(({ author, tokens, share }) => ({ author, tokens: Number(tokens), share_bp: Number(share) }))
}

const trendingOf = (models: ReadonlyArray<RankedModel>, uses: ReadonlyArray<Use>, to: number) => {
  const lastWeek = tokensByModel(uses, to - 7 * A_DAY, to)
  const weekBefore = tokensByModel(uses, to - 14 * A_DAY, to - 7 * A_DAY)
  const candidates = models.filter((model) => {
    const tokens = tokensOf(lastWeek, model)
    return !model.hidden && !model.retired && tokens >= 1000000n && tokens > tokensOf(weekBefore, model)
  })
  candidates.sort((a, b) => {
    const [aNow, aBefore] = [tokensOf(lastWeek, a), tokensOf(weekBefore, a)]
    const [bNow, bBefore] = [tokensOf(lastWeek, b), tokensOf(weekBefore, b)]
    const sameKind = (aBefore === 0n) === (bBefore === 0n)
    if (!sameKind) return aBefore === 0n ? -1 : 1
    if (aBefore !== 0n && aNow * bBefore !== bNow * aBefore) return aNow * bBefore > bNow * aBefore ? -1 : 1
    return descending(aNow, bNow) || ascending(a.publicName, b.publicName)
  })
  return candidates.slice(0, 10).map((model) => {
    const [tokens, before] = [tokensOf(lastWeek, model), tokensOf(weekBefore, model)]
    return {
      public_name: model.publicName,
      display_name: model.displayName,
      author: model.author,
      tokens: Number(tokens),
      change_pct: before === 0n ? null : percentChange(before, tokens),
      is_new: before === 0n
    }
  })
}

const fastestOf = (models: ReadonlyArray<RankedModel>, uses: ReadonlyArray<Use>, to: number) => {
  const entries = models.flatMap((model) => {
    if (model.hidden || model.retired) return []
    const streams = uses
      .filter((use) => use.model === model && use.at >= to - 7 * A_DAY && use.at < to)
      .map((use) => use.settlement)
      .filter((settlement) => settlement.streamed && settlement.ending === "complete" && settlement.ttftMillis !== null)
    if (streams.length < 200) return []
    const speeds = streams.map(({ consumed, durationMillis }) => Number(consumed.output) / Math.max(durationMillis, 1))
    return [
      {
        public_name: model.publicName,
        display_name: model.displayName,
        author: model.author,
        tps_p50: Math.round(median(speeds) * 10000) / 10,
        ttft_p50_ms: median(streams.map(({ ttftMillis }) => ttftMillis ?? Number.NaN)),
        samples_bucket: streams.length >= 10000 ? "10k+" : streams.length >= 1000 ? "1k+" : "200+"
      }
    ]
  })
  return entries.sort((a, b) => b.tps_p50 - a.tps_p50 || ascending(a.public_name, b.public_name))
}

/** Of an even number of values, the median is the lower of the two middle values. */
const median = (values: ReadonlyArray<number>): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN
}

/** A half is rounded away from zero. */
const percentChange = (before: bigint, now: bigint): number => {
  const hundredfold = (now - before) * 100n
  const whole = hundredfold / before
  const rest = hundredfold % before
  if (rest * 2n >= before) return Number(whole + 1n)
  if (rest * -2n >= before) return Number(whole - 1n)
  return Number(whole)
}

const tokensByModel = (uses: ReadonlyArray<Use>, from: number, to: number): ReadonlyMap<string, bigint> => {
  const sums = new Map<string, bigint>()
  for (const { at, model, tokens } of uses) {
    if (at >= from && at < to) sums.set(model.publicName, (sums.get(model.publicName) ?? 0n) + tokens)
  }
  return sums
}

const tokensOf = (sums: ReadonlyMap<string, bigint>, model: RankedModel): bigint => sums.get(model.publicName) ?? 0n

const add = (numbers: ReadonlyArray<bigint>): bigint => {
  let sum = 0n
  for (const number of numbers) sum += number
  return sum
}

const descending = (a: bigint, b: bigint): number => (a > b ? -1 : a < b ? 1 : 0)
const ascending = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const dates = new Intl.DateTimeFormat("en-CA", { timeZone: "Asia/Jakarta", dateStyle: "short" })
const weekdays = new Intl.DateTimeFormat("en", { timeZone: "Asia/Jakarta", weekday: "short" })

const jakartaDate = (at: number): string => dates.format(at)
const jakartaMidnight = (date: string): number => Date.parse(`${date}T00:00:00.000+07:00`)

const bucketStart = (bucket: string, at: number): number => {
  if (bucket === "hour") return Date.parse(`${new Date(at).toISOString().slice(0, 13)}:00:00.000Z`)
  let midnight = jakartaMidnight(jakartaDate(at))
  while (bucket === "week" && weekdays.format(midnight) !== "Mon") midnight -= A_DAY
  return midnight
}
