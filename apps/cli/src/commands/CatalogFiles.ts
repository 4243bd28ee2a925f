/**
 * Defines `tollgate catalog init` and `tollgate catalog import`, which write catalog files and need no database.
 */
import * as Fs from "node:fs/promises"
import * as Path from "node:path"
import * as Args from "@effect/cli/Args"
import * as Options from "@effect/cli/Options"
import { parseCatalogFile } from "@tollgate/domain/catalog/CatalogFile"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { CommandFailed } from "../exit/CommandFailed.ts"
import { type ImportedPrices, importPrices } from "../prices/PriceImport.ts"
import { readPriceList } from "../prices/PriceList.ts"
import { printNote, type Report } from "../terminal/Output.ts"
import { memberLine } from "./CatalogChangeView.ts"
import { pathOf, readCatalogFile, readPriceFile } from "./CatalogFileText.ts"
import { STARTERS, type StarterName, starterCatalog, starters } from "./CatalogStarters.ts"
import { confirm } from "./Confirmation.ts"
import { reportCommand } from "./ReportCommand.ts"
import { flag, option } from "./SharedOptions.ts"

const newFile = Args.text({ name: "file" }).pipe(
  Args.withDescription("Path of the catalog file to create. An existing file is not replaced.")
)

const Starters = Schema.split(",").pipe(
  Schema.filter(
    (names) => names.every((name) => STARTERS.some((known) => known === name)) || `some of: ${STARTERS.join(", ")}`
  ),
  Schema.compose(Schema.Array(Schema.Literal(...STARTERS)), { strict: false })
)

const startersOption = option(
  "for",
  "NAMES",
  Starters,
  `The providers of the starter, separated by commas. Some of: ${STARTERS.join(", ")}.`
)

export const init = reportCommand(
  "init",
  "Write a starter catalog file with the chosen providers and a few models, for you to edit.",
  { file: newFile, names: startersOption },
  ({ file, names }) =>
    Effect.gen(function* () {
      const path = pathOf(file)
      const chosen = STARTERS.filter((name) => names.includes(name))
      yield* create(path, starterCatalog(chosen))
      return { document: { file: path, providers: chosen }, text: nextSteps(file, chosen) } satisfies Report
    })
)

const nextSteps = (file: string, names: ReadonlyArray<StarterName>): string =>
  [
    `Wrote ${file}. Its prices are examples. Before you apply it:`,
    ...names.map((name) => `  ${starters[name].hint}`),
    "  Compare every price with the provider's price list, and add your margin; see tollgate catalog import --help.",
    "  Check the tiers: their prices in US cents, and the tokens that they grant.",
    `Then run: tollgate catalog apply ${file} --dry-run`
  ].join("\n")

const priceFile = Args.text({ name: "prices" }).pipe(
  Args.withDescription("A price file of models.dev (api.json) or of LiteLLM (model_prices_and_context_window.json).")
)
const into = Options.text("into").pipe(
  Options.withPseudoName("FILE"),
  Options.withDescription("The catalog file whose prices are replaced.")
)
const margin = option(
  "margin-percent",
  "N",
  Schema.String.pipe(
    Schema.filter((text) => /^\d{1,4}$/.test(text) || "a whole number from 0 to 9999"),
    Schema.compose(Schema.NumberFromString)
  ),
  "The percentage that is added to each price; 0 by default. The results are rounded up."
).pipe(Options.withDefault(0))
/** Pairs of the form `mine=openai,ours=anthropic`. */
const NamesInList = Schema.split(",").pipe(
  Schema.filter(
    (pairs) => pairs.every((pair) => /^[^=]+=[^=]+$/.test(pair)) || "pairs such as mine=openai, separated by commas"
  ),
  Schema.transform(Schema.ReadonlyMapFromSelf({ key: Schema.String, value: Schema.String }), {
    strict: true,
    decode: (pairs) => new Map(pairs.map((pair) => pair.split("=") as [string, string])),
    encode: (names) => [...names].map((pair) => pair.join("="))
  })
)

const namesInList = option(
  "as",
  "NAMES",
  NamesInList,
  "Names of providers in the price file that differ from the catalog file, such as mine=openai."
).pipe(Options.withDefault(new Map<string, string>()))
const importDryRun = flag("dry-run", "Show the changes, and do not write the catalog file.")
const importYes = flag("yes", "Skip the confirmation.")

export const importCommand = reportCommand(
  "import",
  "Replace the prices in a catalog file by the prices of a price file, after showing the changes.",
  { prices: priceFile, into, margin, namesInList, dryRun: importDryRun, yes: importYes },
  ({ dryRun, into, margin, namesInList, prices, yes }) =>
    Effect.gen(function* () {
      const list = yield* Effect.mapError(Effect.flatMap(readPriceFile(prices), readPriceList), (problem) =>
        typeof problem === "string" ? priceFileUnusable(prices, problem) : problem
      )
      const file = yield* readCatalogFile(into)
      const terms = yield* parseCatalogFile(file)
      const imported = importPrices(file as Parameters<typeof importPrices>[0], terms, {
        prices: list,
        marginPercent: margin,
        namesInList
      })
      // The new file is validated too, because a new price can exceed the largest price that a catalog file allows.
      yield* parseCatalogFile(imported.file)
      const isWritten = !dryRun && imported.changes.length > 0
      if (isWritten) {
        if (!yes && !process.stdin.isTTY) return yield* needsYes
        if (!yes) yield* printNote(differenceText(imported, list.source))
        yield* confirm(`Write these prices to ${into}?`, yes)
        yield* replace(pathOf(into), imported.file)
      }
      const text = [differenceText(imported, list.source), outcomeText(imported, into, isWritten)].join("\n")
      return {
        document: {
          file: pathOf(into),
          written: isWritten,
          changes: imported.changes.map(({ after, before, member, model }) => ({ model, member, before, after })),
          unlisted: imported.unlisted
        },
        // The difference was already printed with the question.
        text: isWritten && !yes ? outcomeText(imported, into, isWritten) : text
      } satisfies Report
    })
)

const needsYes = new CommandFailed({
  exit: "usage",
  code: "usage",
  message: "This command asks for confirmation, and stdin is not a terminal. Add --yes to confirm, or --dry-run."
})

const priceFileUnusable = (file: string, problem: string) =>
  new CommandFailed({
    exit: "refused",
    code: "price_file_invalid",
    message: `${file}: ${problem}. Nothing was changed.`
  })

const differenceText = ({ changes, unlisted }: ImportedPrices, source: string): string =>
  [
    `Prices of ${source}, in micro-USD per million tokens:`,
    ...[...new Set(changes.map(({ model }) => model))].flatMap((model) => [
      `  ${model}`,
      ...changes.filter((change) => change.model === model).map((change) => `    ${memberLine(change)}`)
    ]),
    ...(changes.length === 0 ? ["  no price differs from the catalog file"] : []),
    ...unlisted.map((model) => `  not in the price file, and unchanged: ${model}`)
  ].join("\n")

const outcomeText = ({ changes }: ImportedPrices, file: string, isWritten: boolean): string => {
  if (isWritten) return `Wrote ${file}. Apply it with: tollgate catalog apply ${file}`
  return changes.length === 0 ? "Nothing was written." : `Nothing was written to ${file}.`
}

const textOf = (document: object): string => `${JSON.stringify(document, null, 2)}\n`

const notWritten = (error: unknown): CommandFailed =>
  new CommandFailed({ exit: "failed", code: "file_not_written", message: `Cannot write the file: ${error}` })

const create = (path: string, document: object): Effect.Effect<void, CommandFailed> =>
  Effect.tryPromise({
    try: () => Fs.writeFile(path, textOf(document), { flag: "wx" }),
    catch: (error) =>
      error instanceof Error && "code" in error && error.code === "EEXIST"
        ? new CommandFailed({ exit: "refused", code: "file_exists", message: `The file ${path} exists already.` })
        : notWritten(error)
  })

/**
 * Replaces the contents of a file atomically: after a crash of this command, the file has the old or the new contents.
 * A symbolic link is kept, and its target is replaced.
 */
const replace = (path: string, document: object): Effect.Effect<void, CommandFailed> =>
  Effect.tryPromise({
    try: async () => {
      const file = await Fs.realpath(path)
      const draft = Path.join(Path.dirname(file), `.${Path.basename(file)}.${process.pid}`)
      try {
        await Fs.writeFile(draft, textOf(document))
        await Fs.rename(draft, file)
      } catch (error) {
        await Fs.rm(draft, { force: true })
        throw error
      }
    },
    catch: notWritten
  })
