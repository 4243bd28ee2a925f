/**
 * `tollgate catalog`: what can be called, what it costs, and who runs it.
 */

import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { type CatalogChange, Catalogs } from "@tollgate/application/catalog/Catalogs"
import { parseCatalogFile } from "@tollgate/domain/catalog/CatalogFile"
import * as Effect from "effect/Effect"
import { operatorFor } from "../runtime/Actor.ts"
import type { Answer } from "../terminal/Output.ts"
import { answering } from "./AnsweringCommand.ts"
import { readCatalogFile } from "./CatalogFileText.ts"
import { catalogDocument, catalogTables } from "./CatalogView.ts"
import { reason } from "./SharedOptions.ts"

const file = Args.text({ name: "file" }).pipe(
  Args.withDescription("A catalog file (JSON). A model that is no longer in it is retired.")
)

const apply = answering(
  "apply",
  "Make a catalog file the catalog, whole or not at all.",
  { file, reason: Options.optional(reason) },
  ({ file, reason }) =>
    Effect.gen(function* () {
      const terms = yield* Effect.flatMap(readCatalogFile(file), parseCatalogFile)
      const operator = yield* operatorFor("catalog apply", reason)
      const change = yield* Effect.flatMap(Catalogs, (catalogs) => catalogs.apply(terms, operator))
      return {
        document: { version: change.version, added: change.added, changed: change.changed, retired: change.retired },
        text: changeText(change)
      } satisfies Answer
    })
)

const show = answering("show", "Show models, prices, routes, tiers and providers.", {}, () =>
  Effect.gen(function* () {
    const catalog = yield* Effect.flatMap(Catalogs, (catalogs) => catalogs.load)
    return { document: catalogDocument(catalog), text: catalogTables(catalog) } satisfies Answer
  })
)

export const catalog = Command.make("catalog").pipe(
  Command.withDescription("The catalog: what can be called, what it costs, and who runs it."),
  Command.withSubcommands([apply, show])
)

const changeText = ({ added, changed, retired, version }: CatalogChange): string => {
  const lines = [
    ...added.map((name) => `  added    ${name}`),
    ...changed.map((name) => `  changed  ${name}`),
    ...retired.map((name) => `  retired  ${name}`)
  ]
  return lines.length === 0
    ? `The catalog says this already; it stays at version ${version}.`
    : [`The catalog is at version ${version}. Running servers have it within a second.`, ...lines].join("\n")
}
