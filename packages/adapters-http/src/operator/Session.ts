/**
 * Opens, reads, lists and ends operator sessions (docs/reference/operator.md#sessions).
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import {
  endSession,
  endSessionOf,
  OperatorSessions,
  openSession,
  operatorApiIsOn,
  type ReadSession
} from "@tollgate/application/operator/OperatorSessions"
import { OptionalReason } from "@tollgate/domain/operator/OperatorRequests"
import { CodeRedemption, expiresAt, type OperatorSession, stateOf } from "@tollgate/domain/operator/OperatorSession"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { withOnly } from "../http/RouteServices.ts"
import { SmallBodies } from "../http/SmallBodies.ts"
import { clientAddress } from "../http/TrustedProxies.ts"
import {
  instant,
  instantOrNull,
  type MembersOf,
  orNull,
  text,
  timestamp,
  unknownMembers,
  uuid
} from "../openapi/Fields.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { bodyErrors, documented, OperatorError } from "../openapi/OperatorDocs.ts"
import { jsonBody } from "../reseller/JsonBody.ts"
import { forOperator, operatorResponse, operatorServices } from "./OperatorCaller.ts"
import { optionalReason } from "./RequestFields.ts"

const example = {
  id: "019a9f0e-7777-7d1a-9a41-6f1f0d7b2c11",
  actor: "ani",
  created_at: "2026-11-20T09:30:00.000Z",
  expires_at: "2026-11-20T10:00:00.000Z"
}
const TOKEN = "tgo_q1W2e3R4t5Y6u7I8o9P0a1S2d3F4g5H6j7K8l9Z0x1C"

const SessionBody = Schema.Struct({
  id: uuid("The id of the session, which is not secret.", example.id),
  actor: text("The name of the operator. The audit log records it with every change.", example.actor),
  created_at: timestamp("The time at which `tollgate console` created the session.", example.created_at),
  expires_at: timestamp(
    "The time at which the session expires, unless a use before then moves this time. A use is recorded at most once " +
      "a minute.",
    example.expires_at
  )
}).annotations({ identifier: "OperatorSession", examples: [example] })

const RedemptionBody = Schema.Struct(
  {
    code: text("The one-time code that `tollgate console` prints.", "tgc_q1W2e3R4t5Y6u7I8o9P0a1S2d3F4g5H6j7K8l9Z0x1C")
  } satisfies MembersOf<typeof CodeRedemption>,
  unknownMembers
).annotations({
  identifier: "CodeRedemption",
  examples: [{ code: "tgc_q1W2e3R4t5Y6u7I8o9P0a1S2d3F4g5H6j7K8l9Z0x1C" }]
})

const OpenedBody = Schema.Struct({
  token: text("The token; send it as `Authorization: Bearer <token>` on every other request.", TOKEN),
  session: SessionBody
}).annotations({ identifier: "OpenedOperatorSession", examples: [{ token: TOKEN, session: example }] })

const CurrentBody = Schema.Struct({ session: SessionBody }).annotations({
  identifier: "CurrentOperatorSession",
  examples: [{ session: example }]
})

const EndedBody = Schema.Struct({
  ended: Schema.Literal(true).annotations({ description: "Always true. Requests with the token are refused." })
}).annotations({ identifier: "EndedOperatorSession", examples: [{ ended: true }] })

const listed = {
  ...example,
  state: "open" as const,
  opened_at: "2026-11-20T09:30:30.000Z",
  used_at: "2026-11-20T09:40:00.000Z",
  ended_at: null,
  current: true
}

const ListedBody = Schema.Struct({
  ...SessionBody.fields,
  state: Schema.Literal("waiting", "open", "ended", "expired").annotations({
    description:
      "`waiting`: the console code is not redeemed yet. `open`: the token can be used. Otherwise the token is refused."
  }),
  opened_at: orNull(timestamp("The time at which the console code was redeemed, or `null`.", listed.opened_at)),
  used_at: orNull(timestamp("The time of the last recorded use, or `null`.", listed.used_at)),
  ended_at: orNull(timestamp("The time at which an operator ended the session, or `null`.", listed.used_at)),
  current: Schema.Boolean.annotations({ description: "True if the token of this request belongs to the session." })
}).annotations({ identifier: "ListedOperatorSession", examples: [listed] })

const ListBody = Schema.Struct({
  sessions: Schema.Array(ListedBody).annotations({
    description: "The sessions, newest first. A new session deletes those that are older than a week."
  })
}).annotations({ identifier: "OperatorSessionList", examples: [{ sessions: [listed] }] })

const EndBody = Schema.Struct(
  { reason: optionalReason } satisfies MembersOf<typeof OptionalReason>,
  unknownMembers
).annotations({ identifier: "OperatorSessionEnd", examples: [{ reason: "the telephone was lost" }] })

const PATH = "/api/operator/session"

const open = HttpApiEndpoint.post("openOperatorSession", PATH)
  .setPayload(RedemptionBody)
  .addSuccess(OpenedBody, { status: 201 })
  .annotateContext(
    documented({
      summary: "Redeem a code for an operator session",
      description: "A code is valid for two minutes and can be redeemed once.",
      public: true,
      errors: [...bodyErrors, "InvalidConsoleCode"]
    })
  )

const read = HttpApiEndpoint.get("readOperatorSession", PATH)
  .addSuccess(CurrentBody)
  .annotateContext(documented({ summary: "Read the session that the token belongs to", errors: [] }))

const end = HttpApiEndpoint.del("endOperatorSession", PATH)
  .addSuccess(EndedBody)
  .annotateContext(documented({ summary: "End the session", errors: [] }))

const list = HttpApiEndpoint.get("listOperatorSessions", "/api/operator/sessions")
  .addSuccess(ListBody)
  .annotateContext(documented({ summary: "List the sessions of all operators", errors: [] }))

const endOther = HttpApiEndpoint.post("revokeOperatorSession", "/api/operator/sessions/:sessionID/end")
  .setPath(Schema.Struct({ sessionID: uuid("The id of the session.", example.id) }))
  .setPayload(EndBody)
  .addSuccess(ListedBody)
  .annotateContext(
    documented({
      summary: "End a session",
      description:
        "Every server refuses the token of the session immediately. A session that has ended or expired stays unchanged.",
      errors: [...bodyErrors, "OperatorSessionNotFound"]
    })
  )

export class OperatorSessionApi extends HttpApiGroup.make("operatorSession")
  .add(open)
  .add(read)
  .add(end)
  .add(list)
  .add(endOther)
  .addError(OperatorError)
  .annotateContext(
    OpenApi.annotations({ title: "Operator: session", description: "The session of an operator in the console." })
  ) {}

const toBody = (session: OperatorSession): typeof SessionBody.Type => ({
  id: session.id,
  actor: session.actor,
  created_at: instant(session.createdAt),
  expires_at: instant(expiresAt(session))
})

const opened = operatorResponse(
  Effect.gen(function* () {
    yield* operatorApiIsOn
    const { code } = yield* jsonBody(CodeRedemption)
    const { session, token } = yield* openSession(code, yield* clientAddress)
    const body: typeof OpenedBody.Type = { token: Redacted.value(token), session: toBody(session) }
    return body
  }),
  201
)

const current = forOperator((session) => Effect.succeed<typeof CurrentBody.Type>({ session: toBody(session) }))

const ended = forOperator((session) => Effect.as(endSession(session), { ended: true } satisfies typeof EndedBody.Type))

const toListed = ({ now, session }: ReadSession, current: OperatorSession): typeof ListedBody.Type => ({
  ...toBody(session),
  state: stateOf(session, now),
  opened_at: instantOrNull(session.openedAt),
  used_at: instantOrNull(session.usedAt),
  ended_at: instantOrNull(session.endedAt),
  current: session.id === current.id
})

const sessions = forOperator((current) =>
  Effect.map(
    Effect.flatMap(OperatorSessions, ({ list }) => list),
    (found): typeof ListBody.Type => ({ sessions: found.map((each) => toListed(each, current)) })
  )
)

const endedOther = (id: string) =>
  forOperator((current) =>
    Effect.gen(function* () {
      const { reason } = yield* jsonBody(OptionalReason)
      return toListed(yield* endSessionOf(current, id, reason), current)
    })
  )

export const layer = HttpApiBuilder.group(gateway.add(OperatorSessionApi), "operatorSession", (handlers) =>
  handlers
    .handleRaw("openOperatorSession", () => opened)
    .handleRaw("readOperatorSession", () => current)
    .handleRaw("endOperatorSession", () => ended)
    .handleRaw("listOperatorSessions", () => sessions)
    .handleRaw("revokeOperatorSession", ({ path }) => endedOther(path.sessionID))
).pipe(withOnly(...operatorServices, SmallBodies))
