/**
 * Defines `tollgate catalog`, which applies catalog files and shows the catalog.
 */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { type CatalogChange, Catalogs } from "@tollgate/application/catalog/Catalogs"
import { parseCatalogFile } from "@tollgate/domain/catalog/CatalogFile"
import * as Effect from "effect/Effect"
import type { Report } from "../terminal/Output.ts"
import { readCatalogFile } from "./CatalogFileText.ts"
import { catalogDocument, catalogTables } from "./CatalogView.ts"
import { reportCommand } from "./ReportCommand.ts"
import { operatorFor, reason } from "./SharedOptions.ts"

const file = Args.text({ name: "file" }).pipe(
  Args.withDescription("Catalog file in JSON. A model or provider that the file does not contain is retired.")
)

const apply = reportCommand(
  "apply",
  "Apply a catalog file. If the file contains an error, nothing is changed.",
  { file, reason: Options.optional(reason) },
  ({ file, reason }) =>
    Effect.gen(function* () {
      const terms = yield* Effect.flatMap(readCatalogFile(file), parseCatalogFile)
      const operator = yield* operatorFor("catalog apply", reason)
      const change = yield* Effect.flatMap(Catalogs, (catalogs) => catalogs.apply(terms, operator))
      return {
        document: { version: change.version, added: change.added, changed: change.changed, retired: change.retired },
        text: changeText(change)
      } satisfies Report
    })
)

const show = reportCommand("show", "Show the models with their prices, routes and tiers, and the providers.", {}, () =>
  Effect.gen(function* () {
    const catalog = yield* Effect.flatMap(Catalogs, (catalogs) => catalogs.load)
    return { document: catalogDocument(catalog), text: catalogTables(catalog) } satisfies Report
  })
)

export const catalog = Command.make("catalog").pipe(
  Command.withDescription("Manage the catalog: models, prices, routes, tiers and providers."),
  Command.withSubcommands([apply, show])
)

const changeText = ({ added, changed, retired, version }: CatalogChange): string => {
  const lines = [
    ...added.map((name) => `  added    ${name}`),
    ...changed.map((name) => `  changed  ${name}`),
    ...retired.map((name) => `  retired  ${name}`)
  ]
  return lines.length === 0
    ? `No change; the catalog stays at version ${version}.`
    : [`The catalog is now at version ${version}. Running servers normally load it within a second.`, ...lines].join(
        "\n"
      )
}
