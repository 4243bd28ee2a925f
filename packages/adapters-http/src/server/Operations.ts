/**
 * Serves the routes that describe the server: links to the documentation, the liveness probe and the readiness probe.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import { Database } from "@tollgate/application/operations/Database"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { InFlight } from "../http/InFlight.ts"
import { withOnly } from "../http/RouteServices.ts"
import { gateway } from "../openapi/GatewayDocument.ts"

const Service = Schema.Struct({
  docs: Schema.Literal("/docs"),
  openapi: Schema.Literal("/openapi.json")
}).annotations({ identifier: "Service" })

const Alive = Schema.Struct({ status: Schema.Literal("ok") }).annotations({ identifier: "Alive" })

const Ready = Schema.Struct({ status: Schema.Literal("ready") }).annotations({ identifier: "Ready" })

class NotReady extends Schema.Class<NotReady>("NotReady")(
  { status: Schema.Literal("not_ready"), reason: Schema.Literal("draining", "database_unreachable") },
  HttpApiSchema.annotations({
    status: 503,
    description: "This server is stopping, or cannot reach its database. Send new requests to another server."
  })
) {}

const summary = (text: string) => OpenApi.annotations({ summary: text })

export class OperationsApi extends HttpApiGroup.make("operations")
  .add(
    HttpApiEndpoint.get("getServiceLinks", "/")
      .addSuccess(Service)
      .annotateContext(summary("Read the links to the documentation"))
  )
  .add(
    HttpApiEndpoint.get("getLiveness", "/healthz")
      .addSuccess(Alive)
      .annotateContext(summary("Check that the server runs"))
  )
  .add(
    HttpApiEndpoint.get("getReadiness", "/readyz")
      .addSuccess(Ready)
      .addError(NotReady)
      .annotateContext(summary("Check that a load balancer can send requests to the server"))
  )
  .annotateContext(
    OpenApi.annotations({
      title: "Server",
      description: "Links to the documentation, and probes for load balancers."
    })
  ) {}

const notReady = (reason: NotReady["reason"]) => Effect.fail(new NotReady({ status: "not_ready", reason }))

export const layer = HttpApiBuilder.group(gateway.add(OperationsApi), "operations", (handlers) =>
  Effect.gen(function* () {
    const database = yield* Database
    const inFlight = yield* InFlight
    return handlers
      .handle("getServiceLinks", () => Effect.succeed({ docs: "/docs", openapi: "/openapi.json" } as const))
      .handle("getLiveness", () => Effect.succeed({ status: "ok" } as const))
      .handle("getReadiness", () =>
        Effect.gen(function* () {
          if (inFlight.draining) return yield* notReady("draining")
          if (yield* database.reachable) return { status: "ready" } as const
          return yield* notReady("database_unreachable")
        })
      )
  })
).pipe(withOnly(Database, InFlight))
