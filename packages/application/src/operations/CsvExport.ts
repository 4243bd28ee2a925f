/**
 * Writes a list as CSV (RFC 4180), page by page, so that the memory does not depend on the length of the list.
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"

/** A column: its heading, and the function that writes the cell of a row with {@link text} or {@link exact}. */
export type Column<Row> = readonly [heading: string, cell: (row: Row) => string]

/** A list as CSV. */
export interface CsvExport<Row, E, R> {
  readonly columns: ReadonlyArray<Column<Row>>
  /** Returns at most `limit` rows that follow the row `after`; the first rows if `after` is undefined. */
  readonly read: (limit: number, after: Row | undefined) => Effect.Effect<ReadonlyArray<Row>, E, R>
}

/**
 * Returns the cell of a text, such as a text that a client has chosen. A spreadsheet program can run a cell as a
 * formula if the cell begins with `=`, `+`, `-`, `@`, a tab or a line break. An apostrophe before the text prevents
 * this.
 */
export const text = (value: string | undefined): string =>
  quoted(/^[=+\-@\t\r\n]/.test(value ?? "") ? `'${value}` : (value ?? ""))

/** Returns the cell of a value that needs no apostrophe, such as an amount or a time. Undefined is an empty cell. */
export const exact = (value: bigint | string | Date | undefined): string =>
  quoted(value instanceof Date ? value.toISOString() : (value?.toString() ?? ""))

const quoted = (cell: string): string => (/[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

const line = (cells: ReadonlyArray<string>): string => `${cells.join(",")}\r\n`

const ROWS_PER_PAGE = 1_000
/**
 * If a page after the first page fails with `Overloaded`, it is read again up to 120 times, one second after each
 * failure.
 */
const RETRIES = Schedule.intersect(Schedule.spaced("1 second"), Schedule.recurs(120))

/**
 * Reads the first page, and returns the CSV as a stream of texts, one for each page. Only the first page fails with an
 * error. The error of a later page is a defect, because a part of the CSV is already sent.
 */
export const csvOf = <Row, E, R>({
  columns,
  read
}: CsvExport<Row, E, R>): Effect.Effect<Stream.Stream<string, never, R>, E, R> =>
  Effect.map(read(ROWS_PER_PAGE, undefined), (first) => {
    const linesOf = (rows: ReadonlyArray<Row>) => rows.map((row) => line(columns.map(([, cell]) => cell(row)))).join("")
    const lastOf = (rows: ReadonlyArray<Row>) =>
      rows.length < ROWS_PER_PAGE ? Option.none<Row>() : Option.fromNullable(rows.at(-1))
    const later = (after: Row) =>
      Effect.suspend(() => read(ROWS_PER_PAGE, after)).pipe(
        Effect.retry({ schedule: RETRIES, while: isOverloaded }),
        Effect.orDie,
        Effect.map((rows) => [Chunk.of(linesOf(rows)), lastOf(rows)] as const)
      )
    const head = Stream.succeed(line(columns.map(([heading]) => heading)) + linesOf(first))
    return Option.match(lastOf(first), {
      onNone: () => head,
      onSome: (last) => Stream.concat(head, Stream.paginateChunkEffect(last, later))
    })
  })

const isOverloaded = Predicate.isTagged("Overloaded")
