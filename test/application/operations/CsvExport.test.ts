import { describe, expect, it } from "@effect/vitest"
import { type Column, csvOf, exact, text } from "@tollgate/application/operations/CsvExport"
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import { parse } from "csv-parse/sync"
import { Chunk, Effect, FastCheck, Fiber, Stream, TestClock } from "effect"
import { property } from "../../support/property.ts"

interface Row {
  readonly n: number
  readonly note: string
}

const columns: ReadonlyArray<Column<Row>> = [
  ["n", ({ n }) => exact(BigInt(n))],
  ["note", ({ note }) => text(note)]
]

const exportOf = (rows: ReadonlyArray<Row>) => ({
  columns,
  read: (limit: number, after: Row | undefined) => {
    const start = after === undefined ? 0 : rows.indexOf(after) + 1
    return Effect.succeed(rows.slice(start, start + limit))
  }
})

const parsed = (csv: string): ReadonlyArray<Record<string, string>> => parse(csv, { columns: true })

const wholeOf = <E>(csv: Effect.Effect<Stream.Stream<string>, E>) => Effect.flatMap(csv, Stream.mkString)

const anyText = FastCheck.oneof(FastCheck.string({ unit: "grapheme" }), FastCheck.stringMatching(/^[ ",;'\r\n=a]*$/))
const formulaStart = FastCheck.constantFrom("=", "+", "-", "@", "\t", "\r", "\n")
const formula = FastCheck.tuple(formulaStart, anyText).map((parts) => parts.join(""))
const plainText = anyText.filter((note) => !/^[=+\-@\t\r\n]/.test(note))
const cellOf = (note: string): string | undefined => {
  const [[cell] = []] = parse(`${text(note)},end\r\n`) as ReadonlyArray<ReadonlyArray<string>>
  return cell
}

describe("a CSV cell", () => {
  property("of a plain text is read unchanged by a CSV parser", [plainText], (note) => cellOf(note) === note)

  property("of a formula begins with an apostrophe", [formula], (note) => cellOf(note) === `'${note}`)

  it("of an amount is exact", () => {
    expect([exact(-9007199254740993n), exact("0.000001"), exact(undefined)]).toEqual([
      "-9007199254740993",
      "0.000001",
      ""
    ])
  })
})

describe("a CSV export", () => {
  it.effect("has each row once in the order of the list", () =>
    Effect.gen(function* () {
      for (const count of [0, 1, 999, 1_000, 1_001, 3_000]) {
        const rows = Array.from({ length: count }, (_, n) => ({ n, note: `"${n}", =` }))
        const csv = yield* wholeOf(csvOf(exportOf(rows)))
        expect(csv.startsWith("n,note\r\n")).toBe(true)
        expect(parsed(csv)).toEqual(rows.map(({ n, note }) => ({ n: `${n}`, note })))
      }
    })
  )

  it.effect("reads a page only when the previous page has been consumed", () =>
    Effect.gen(function* () {
      const rows = Array.from({ length: 5_000 }, (_, n) => ({ n, note: "" }))
      let reads = 0
      const { read } = exportOf(rows)
      const counted = (limit: number, after: Row | undefined) => {
        reads += 1
        return read(limit, after)
      }
      const stream = yield* csvOf({ columns, read: counted })
      expect(Chunk.size(yield* Stream.runCollect(Stream.take(stream, 1)))).toBe(1)
      expect(reads).toBe(1)
      yield* Stream.runDrain(Stream.take(stream, 3))
      expect(reads).toBe(3)
    })
  )

  const busy = new Overloaded({ retryAfterSeconds: 1 })
  it.effect("fails if the read of the first page is refused as overloaded", () =>
    Effect.gen(function* () {
      expect(yield* Effect.flip(csvOf({ columns, read: () => Effect.fail(busy) }))).toBe(busy)
    })
  )

  it.effect("repeats the refused read of a later page", () =>
    Effect.gen(function* () {
      const rows = Array.from({ length: 1_500 }, (_, n) => ({ n, note: "" }))
      const { read } = exportOf(rows)
      let refusals = 3
      const waiting = (limit: number, after: Row | undefined) =>
        after !== undefined && refusals-- > 0 ? Effect.fail(busy) : read(limit, after)
      const whole = yield* Effect.fork(wholeOf(csvOf({ columns, read: waiting })))
      for (let second = 0; second < 5; second++) yield* TestClock.adjust("1 second")
      expect(parsed(yield* Fiber.join(whole))).toHaveLength(1_500)
    })
  )
})
