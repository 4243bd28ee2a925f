/**
 * Shows the providers of this node to operators, and checks the deployment (docs/reference/operator.md#service).
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { Catalogs, CurrentCatalog } from "@tollgate/application/catalog/Catalogs"
import { PaygAccounts } from "@tollgate/application/customer/PaygAccounts"
import { ImageReviews } from "@tollgate/application/images/ImageReviews"
import { Upstreams } from "@tollgate/application/inference/Upstreams"
import { OpenHolds } from "@tollgate/application/ledger/OpenHolds"
import { Database } from "@tollgate/application/operations/Database"
import { Nodes } from "@tollgate/application/operations/Nodes"
import type { Finding } from "@tollgate/application/operator/Finding"
import { type NodeProviders, readProviders, runChecks } from "@tollgate/application/operator/ServiceState"
import { PaymentProviders } from "@tollgate/application/topup/PaymentProviders"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { withOnly } from "../http/RouteServices.ts"
import { integer, orNull, text, uuid } from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { documented, OperatorError } from "../openapi/OperatorDocs.ts"
import { forOperator, operatorServices } from "./OperatorCaller.ts"

const provider = { name: "openai", breaker: "closed" as const, open_exchanges: 3 }
const NODE = "019a9f0e-9999-7d1a-9a41-6f1f0d7b2c11"

const ProvidersBody = Schema.Struct({
  node_id: uuid("The id of the node that responds.", NODE),
  providers: Schema.Array(
    Schema.Struct({
      name: text("The name of the provider.", provider.name),
      breaker: Schema.Literal("closed", "open", "half_open").annotations({
        description:
          "The circuit breaker of this node. `closed`: requests are sent. `open`: no request is sent until the waiting " +
          "time has passed; then the next request is sent as a probe. `half_open`: the probe is running, and no other " +
          "request is sent."
      }),
      open_exchanges: integer("The number of open exchanges of this node with the provider.", provider.open_exchanges)
    }).annotations({ identifier: "ProviderState", examples: [provider] })
  ).annotations({ description: "The providers of the catalog." })
}).annotations({ identifier: "NodeProviders", examples: [{ node_id: NODE, providers: [provider] }] })

const finding = {
  check: "clock",
  status: "warn" as const,
  detail: "the database clock is 2400 ms ahead of the local clock",
  advice: "Synchronise both machines with a time server (NTP)."
}

const ChecksBody = Schema.Struct({
  ok: Schema.Boolean.annotations({ description: "True if no check failed." }),
  checks: Schema.Array(
    Schema.Struct({
      check: text("The name of the check.", finding.check),
      status: Schema.Literal("ok", "warn", "fail").annotations({
        description:
          "`fail`: the database, its schema or a setting has a fault. `warn`: a problem that can be intended or " +
          "temporary, such as an empty catalog or a payment provider that does not respond."
      }),
      detail: text("The result of the check.", finding.detail),
      advice: orNull(text("The action that corrects the problem; `null` if the status is `ok`.", finding.advice))
    }).annotations({ identifier: "ServiceCheck", examples: [finding] })
  ).annotations({ description: "The checks." })
}).annotations({ identifier: "ServiceChecks", examples: [{ ok: true, checks: [finding] }] })

const listProviders = HttpApiEndpoint.get("listProviders", "/api/operator/providers")
  .addSuccess(ProvidersBody)
  .annotateContext(
    documented({
      summary: "List the providers with their circuit breakers",
      description: "Each node has its own circuit breakers; the response contains the circuit breakers of one node.",
      errors: []
    })
  )

const check = HttpApiEndpoint.post("checkService", "/api/operator/doctor")
  .addSuccess(ChecksBody)
  .annotateContext(
    documented({
      summary: "Check the service",
      description:
        "Runs the checks of `tollgate doctor` that a server can run. Some of them send a request to each payment provider. While a migration is missing, or a newer release has changed the schema, the checks that read tables are left out. The request has no body.",
      errors: []
    })
  )

export class OperatorServiceApi extends HttpApiGroup.make("operatorService")
  .add(listProviders)
  .add(check)
  .addError(OperatorError)
  .annotateContext(
    OpenApi.annotations({ title: "Operator: service", description: "The state of the providers and of the service." })
  ) {}

const toProviders = ({ nodeId, providers }: NodeProviders): typeof ProvidersBody.Type => ({
  node_id: nodeId,
  providers: providers.map(({ breaker, name, openExchanges }) => ({ name, breaker, open_exchanges: openExchanges }))
})

const toChecks = (findings: ReadonlyArray<Finding>): typeof ChecksBody.Type => ({
  ok: findings.every(({ status }) => status !== "fail"),
  checks: findings.map(({ advice, check, detail, status }) => ({ check, status, detail, advice: advice ?? null }))
})

const providers = forOperator(() => Effect.map(readProviders, toProviders))
const checked = forOperator(() => Effect.map(runChecks, toChecks))

export const layer = HttpApiBuilder.group(gateway.add(OperatorServiceApi), "operatorService", (handlers) =>
  handlers.handleRaw("listProviders", () => providers).handleRaw("checkService", () => checked)
).pipe(
  withOnly(
    ...operatorServices,
    Catalogs,
    CurrentCatalog,
    Database,
    ImageReviews,
    Nodes,
    OpenHolds,
    PaygAccounts,
    PaymentProviders,
    Upstreams
  )
)
