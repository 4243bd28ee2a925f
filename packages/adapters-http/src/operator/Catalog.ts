/**
 * Shows the stored catalog to operators, and previews and applies catalog files (docs/reference/operator.md#catalog).
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { catalogDocument } from "@tollgate/application/catalog/CatalogDocument"
import { Catalogs } from "@tollgate/application/catalog/Catalogs"
import { operatorOf } from "@tollgate/application/operator/OperatorSessions"
import { CatalogFileInvalid, parseCatalogFile } from "@tollgate/domain/catalog/CatalogFile"
import { CatalogRequest } from "@tollgate/domain/operator/OperatorRequests"
import { readJson } from "@tollgate/domain/validation/JsonText"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { withOnly } from "../http/RouteServices.ts"
import { SmallBodies } from "../http/SmallBodies.ts"
import { type MembersOf, unknownMembers } from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { bodyErrors, documented, OperatorError } from "../openapi/OperatorDocs.ts"
import { jsonBody } from "../reseller/JsonBody.ts"
import { CatalogBody, ChangeBody, toChangeBody } from "./CatalogBody.ts"
import { forOperator, operatorServices } from "./OperatorCaller.ts"
import { optionalReason } from "./RequestFields.ts"

/** The maximum size of a request body with a catalog file, in bytes. */
const MAX_CATALOG_BYTES = 4 * 1024 * 1024

const FileBody = Schema.Struct(
  {
    catalog: Schema.Unknown.annotations({
      jsonSchema: {
        type: "object",
        description: "The content of a catalog file. Models and providers that it does not contain are retired."
      }
    }),
    reason: optionalReason
  } satisfies MembersOf<typeof CatalogRequest>,
  unknownMembers
).annotations({ identifier: "CatalogFileRequest", examples: [{ catalog: { providers: [], models: [] } }] })

const PATH = "/api/operator/catalog"

const readCatalog = HttpApiEndpoint.get("showCatalog", PATH)
  .addSuccess(CatalogBody)
  .annotateContext(documented({ summary: "Show the stored catalog", errors: [] }))

const preview = HttpApiEndpoint.post("previewCatalog", `${PATH}/preview`)
  .setPayload(FileBody)
  .addSuccess(ChangeBody)
  .annotateContext(
    documented({
      summary: "Show what a catalog file would change",
      description: "Changes nothing. The body has at most 4 MiB.",
      errors: [...bodyErrors, "CatalogFileInvalid"]
    })
  )

const apply = HttpApiEndpoint.post("applyCatalog", `${PATH}/apply`)
  .setPayload(FileBody)
  .addSuccess(ChangeBody)
  .annotateContext(
    documented({
      summary: "Apply a catalog file",
      description: "If the file contains an error, nothing is changed. The body has at most 4 MiB.",
      errors: [...bodyErrors, "CatalogFileInvalid"]
    })
  )

export class OperatorCatalogApi extends HttpApiGroup.make("operatorCatalog")
  .add(readCatalog)
  .add(preview)
  .add(apply)
  .addError(OperatorError)
  .annotateContext(
    OpenApi.annotations({ title: "Operator: catalog", description: "The models, prices, routes, tiers and providers." })
  ) {}

const shown = forOperator(() =>
  Effect.map(
    Effect.flatMap(Catalogs, (catalogs) => catalogs.load),
    (stored): typeof CatalogBody.Type => catalogDocument(stored)
  )
)

/** Refuses a member that occurs twice in one object, like the other readers of catalog files. */
const withoutRepeatedMembers = (text: string) =>
  Either.mapLeft(
    readJson(text),
    ({ column, line, problem }) =>
      new CatalogFileInvalid({ issues: [`line ${line}, column ${column} of the body: ${problem}`] })
  )

const catalogBody = jsonBody(CatalogRequest, MAX_CATALOG_BYTES, withoutRepeatedMembers)

const previewed = forOperator(() =>
  Effect.gen(function* () {
    const { catalog } = yield* catalogBody
    const terms = yield* parseCatalogFile(catalog)
    return toChangeBody(yield* (yield* Catalogs).preview(terms))
  })
)

const applied = forOperator((session) =>
  Effect.gen(function* () {
    const { catalog, reason } = yield* catalogBody
    const terms = yield* parseCatalogFile(catalog)
    return toChangeBody(yield* (yield* Catalogs).apply(terms, operatorOf(session, "catalog apply", reason)))
  })
)

export const layer = HttpApiBuilder.group(gateway.add(OperatorCatalogApi), "operatorCatalog", (handlers) =>
  handlers
    .handleRaw("showCatalog", () => shown)
    .handleRaw("previewCatalog", () => previewed)
    .handleRaw("applyCatalog", () => applied)
).pipe(withOnly(...operatorServices, Catalogs, SmallBodies))
