/**
 * Defines `tollgate catalog`, which applies catalog files and shows the catalog.
 */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { catalogDocument } from "@tollgate/application/catalog/CatalogDocument"
import { type CatalogChange, Catalogs } from "@tollgate/application/catalog/Catalogs"
import { parseCatalogFile } from "@tollgate/domain/catalog/CatalogFile"
import * as Effect from "effect/Effect"
import type { Report } from "../terminal/Output.ts"
import { changeDocument, changeLines, previewDocument } from "./CatalogChangeView.ts"
import { importCommand, init } from "./CatalogFiles.ts"
import { readCatalogFile } from "./CatalogFileText.ts"
import { catalogTables } from "./CatalogView.ts"
import { reportCommand } from "./ReportCommand.ts"
import { flag, operatorFor, reason } from "./SharedOptions.ts"

const file = Args.text({ name: "file" }).pipe(
  Args.withDescription("Catalog file in JSON. A model or provider that the file does not contain is retired.")
)

const dryRun = flag("dry-run", "Show what the file would change, and change nothing.")

export const catalogApply = reportCommand(
  "apply",
  "Apply a catalog file. If the file contains an error, nothing is changed.",
  { file, dryRun, reason: Options.optional(reason) },
  ({ dryRun, file, reason }) =>
    Effect.gen(function* () {
      const terms = yield* Effect.flatMap(readCatalogFile(file), parseCatalogFile)
      const catalogs = yield* Catalogs
      if (dryRun) {
        const change = yield* catalogs.preview(terms)
        return { document: previewDocument(change), text: previewText(change, file) } satisfies Report
      }
      const change = yield* catalogs.apply(terms, yield* operatorFor("catalog apply", reason))
      return { document: changeDocument(change), text: changeText(change) } satisfies Report
    })
)

export const catalogShow = reportCommand(
  "show",
  "Show the models with their prices, routes and tiers, and the providers.",
  {},
  () =>
    Effect.gen(function* () {
      const catalog = yield* Effect.flatMap(Catalogs, (catalogs) => catalogs.load)
      return { document: catalogDocument(catalog), text: catalogTables(catalog) } satisfies Report
    })
)

/** Builds the command. The caller provides the ports of the two subcommands that use the stored catalog. */
export const catalog = <R, E, Applied, Shown>(
  apply: Command.Command<"apply", R, E, Applied>,
  show: Command.Command<"show", R, E, Shown>
) =>
  Command.make("catalog").pipe(
    Command.withDescription("Manage the catalog: models, prices, routes, tiers and providers."),
    Command.withSubcommands([init, importCommand, apply, show])
  )

const changeText = (change: CatalogChange): string => {
  const lines = changeLines(change)
  return lines.length === 0
    ? `No change; the catalog stays at version ${change.version}.`
    : [
        `The catalog is now at version ${change.version}. Running servers normally load it within a second.`,
        ...lines
      ].join("\n")
}

const previewText = (change: CatalogChange, file: string): string => {
  const lines = changeLines(change)
  return lines.length === 0
    ? `No change; the file equals the catalog, version ${change.version}.`
    : [`Nothing was changed. The file would change version ${change.version}:`, ...lines, applyHint(file)].join("\n")
}

const applyHint = (file: string): string => `Apply it with: tollgate catalog apply ${file}`
