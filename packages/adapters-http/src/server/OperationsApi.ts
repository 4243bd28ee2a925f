/**
 * What operators and the merely curious ask a server: who are you, are you alive, do you take requests.
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"

const Service = Schema.Struct({
  docs: Schema.Literal("/docs"),
  openapi: Schema.Literal("/openapi.json")
}).annotations({ identifier: "Service" })

const Alive = Schema.Struct({ status: Schema.Literal("ok") }).annotations({ identifier: "Alive" })

const Ready = Schema.Struct({ status: Schema.Literal("ready") }).annotations({ identifier: "Ready" })

export class NotReady extends Schema.Class<NotReady>("NotReady")(
  { status: Schema.Literal("not_ready"), reason: Schema.Literal("draining", "database_unreachable") },
  HttpApiSchema.annotations({ status: 503, description: "Send requests elsewhere." })
) {}

const summary = (text: string) => OpenApi.annotations({ summary: text })

export class OperationsApi extends HttpApiGroup.make("operations")
  .add(HttpApiEndpoint.get("service", "/").addSuccess(Service).annotateContext(summary("What this is")))
  .add(HttpApiEndpoint.get("alive", "/healthz").addSuccess(Alive).annotateContext(summary("Whether the process runs")))
  .add(
    HttpApiEndpoint.get("ready", "/readyz")
      .addSuccess(Ready)
      .addError(NotReady)
      .annotateContext(summary("Whether requests are taken"))
  ) {}
