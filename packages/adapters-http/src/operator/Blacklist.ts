/**
 * Manages the emails and domains that cannot sign up as resellers (docs/reference/operator.md#blacklist).
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { CursorSealer } from "@tollgate/application/operations/CursorSealer"
import { listBlacklist } from "@tollgate/application/operator/OperatorLists"
import { operatorOf } from "@tollgate/application/operator/OperatorSessions"
import * as Store from "@tollgate/application/reseller/Blacklist"
import { Blacklist } from "@tollgate/application/reseller/Blacklist"
import { BlacklistRequest } from "@tollgate/domain/operator/OperatorRequests"
import type { BlacklistEntry } from "@tollgate/domain/reseller/Blacklist"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { withOnly } from "../http/RouteServices.ts"
import { SmallBodies } from "../http/SmallBodies.ts"
import { instant, type MembersOf, text, timestamp, unknownMembers } from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { cursorParameters, pageOf } from "../openapi/ListDocs.ts"
import { bodyErrors, documented, OperatorError } from "../openapi/OperatorDocs.ts"
import { jsonBody } from "../reseller/JsonBody.ts"
import { forOperator, operatorServices, pageForOperator } from "./OperatorCaller.ts"
import { optionalReason } from "./RequestFields.ts"

const example = { pattern: "@spam.example", created_at: "2026-11-20T09:30:00.000Z", listed: true }

const EntryBody = Schema.Struct({
  pattern: text("The email, or @ followed by the domain.", example.pattern),
  created_at: timestamp("The time at which the entry was added.", example.created_at),
  listed: Schema.Boolean.annotations({ description: "False after the entry was removed." })
}).annotations({ identifier: "BlacklistEntry", examples: [example] })

const EntryPage = pageOf(EntryBody, {
  identifier: "BlacklistPage",
  description: "The entries, ordered by pattern.",
  example
})

const RequestBody = Schema.Struct(
  {
    pattern: text("An email, or @ followed by a domain; it is converted to lower case.", example.pattern),
    reason: optionalReason
  } satisfies MembersOf<typeof BlacklistRequest>,
  unknownMembers
).annotations({ identifier: "BlacklistRequest", examples: [{ pattern: example.pattern }] })

const PATH = "/api/operator/blacklist"

const readEntries = HttpApiEndpoint.get("listBlacklist", PATH)
  .setUrlParams(Schema.Struct(cursorParameters))
  .addSuccess(EntryPage)
  .annotateContext(documented({ summary: "List the blacklist", errors: ["ValidationFailed"] }))

const add = HttpApiEndpoint.post("addToBlacklist", PATH)
  .setPayload(RequestBody)
  .addSuccess(EntryBody)
  .annotateContext(
    documented({
      summary: "Block an email or a domain from signing up",
      description: "Existing resellers are not affected.",
      errors: bodyErrors
    })
  )

const remove = HttpApiEndpoint.post("removeFromBlacklist", `${PATH}/remove`)
  .setPayload(RequestBody)
  .addSuccess(EntryBody)
  .annotateContext(
    documented({
      summary: "Remove an email or a domain from the blacklist",
      errors: [...bodyErrors, "PatternNotListed"]
    })
  )

export class OperatorBlacklistApi extends HttpApiGroup.make("operatorBlacklist")
  .add(readEntries)
  .add(add)
  .add(remove)
  .addError(OperatorError)
  .annotateContext(
    OpenApi.annotations({ title: "Operator: blacklist", description: "The emails and domains that cannot sign up." })
  ) {}

const toBody = ({ createdAt, pattern }: BlacklistEntry, listed: boolean): typeof EntryBody.Type => ({
  pattern,
  created_at: instant(createdAt),
  listed
})

const added = forOperator((session) =>
  Effect.gen(function* () {
    const { pattern, reason } = yield* jsonBody(BlacklistRequest)
    return toBody(yield* (yield* Store.Blacklist).add(pattern, operatorOf(session, "blacklist add", reason)), true)
  })
)

const removed = forOperator((session) =>
  Effect.gen(function* () {
    const { pattern, reason } = yield* jsonBody(BlacklistRequest)
    return toBody(
      yield* (yield* Store.Blacklist).remove(pattern, operatorOf(session, "blacklist remove", reason)),
      false
    )
  })
)

export const layer = HttpApiBuilder.group(gateway.add(OperatorBlacklistApi), "operatorBlacklist", (handlers) =>
  handlers
    .handleRaw("listBlacklist", ({ urlParams }) =>
      pageForOperator(urlParams, listBlacklist, (entry) => toBody(entry, true))
    )
    .handleRaw("addToBlacklist", () => added)
    .handleRaw("removeFromBlacklist", () => removed)
).pipe(withOnly(...operatorServices, Blacklist, CursorSealer, SmallBodies))
