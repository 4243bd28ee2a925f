import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { sqlState } from "@tollgate/adapters-postgres/client/SqlErrorClass"
import { OperatorSessions } from "@tollgate/application/operator/OperatorSessions"
import { operatorStores as storesOf } from "@tollgate/composition/GatewayStores"
import {
  InvalidConsoleCode,
  InvalidOperatorSession,
  OperatorName,
  OperatorSessionId,
  OperatorSessionNotFound,
  stateOf
} from "@tollgate/domain/operator/OperatorSession"
import type { ClientAddress } from "@tollgate/domain/reseller/AttemptLimit"
import { Effect, Either, Layer, Redacted } from "effect"
import { audited } from "../../support/Programme.ts"
import { operator } from "../../support/Stores.ts"
import { clientLayer, TestDatabase, layer as testDatabase } from "../../support/TestDatabase.ts"

const operatorStores = storesOf({ NODE_DEAD_AFTER_SECONDS: 30 })
const ADDRESS = "198.51.100.1" as ClientAddress
const ANI = OperatorName.make("ani")
const RESTRICT = "23001"

/** Builds the store a second time, with separate connections to the same database, as on another node. */
const anotherNode = Effect.flatMap(TestDatabase, (database) =>
  Effect.flatMap(Layer.build(Layer.provide(operatorStores, clientLayer(database))), (node) =>
    Effect.provide(OperatorSessions, node)
  )
)

const created = Effect.flatMap(OperatorSessions, (sessions) => sessions.create(ANI, operator))
const opened = Effect.gen(function* () {
  const sessions = yield* OperatorSessions
  return yield* sessions.open((yield* created).code, ADDRESS)
})
const use = (token: Redacted.Redacted<string>) =>
  Effect.flatMap(OperatorSessions, (sessions) => Effect.either(sessions.use(token)))

/** Makes the creation, opening and last use of each session earlier, as if this many seconds had passed. */
const pass = (seconds: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`ALTER TABLE operator_session DISABLE TRIGGER opened_once`
    yield* sql`UPDATE operator_session SET created_at = created_at - ${seconds} * interval '1 second',
      opened_at = opened_at - ${seconds} * interval '1 second', used_at = used_at - ${seconds} * interval '1 second'`
    yield* sql`ALTER TABLE operator_session ENABLE TRIGGER opened_once`
  }).pipe(Effect.orDie)

const refused = Either.left(new InvalidOperatorSession())

describe("operator sessions", () => {
  layer(Layer.provideMerge(operatorStores, testDatabase), { excludeTestServices: true })((it) => {
    it.scoped("open once for 20 concurrent redemptions of a code on two nodes", () =>
      Effect.gen(function* () {
        const here = yield* OperatorSessions
        const there = yield* anotherNode
        const { code, session } = yield* created
        const outcomes = yield* Effect.forEach(
          Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? here : there)),
          (node) => Effect.either(node.open(code, ADDRESS)),
          { concurrency: 20 }
        )
        const [first, ...more] = outcomes.filter(Either.isRight).map(({ right }) => right)
        expect(more).toEqual([])
        for (const { left } of outcomes.filter(Either.isLeft)) expect(left).toEqual(new InvalidConsoleCode())
        const token = first?.token ?? Redacted.make("")
        expect(yield* use(token)).toMatchObject({ right: { id: session.id, actor: ANI } })
        expect(yield* audited(session.id)).toMatchObject([
          { actor: operator.actor, action: "console.create", detail: { actor: ANI } },
          { actor: ANI, action: "console.open", detail: { address: ADDRESS } }
        ])
      })
    )

    it.effect("store neither the code nor the token", () =>
      Effect.gen(function* () {
        const sessions = yield* OperatorSessions
        const { code } = yield* created
        const { token } = yield* sessions.open(code, ADDRESS)
        const sql = yield* SqlClient.SqlClient
        const rows = yield* sql<{ row: string }>`SELECT row_to_json(s)::text AS row FROM operator_session s
          UNION ALL SELECT row_to_json(a)::text FROM audit_log a`
        expect(rows.length).toBeGreaterThan(2)
        for (const secret of [code, token]) {
          const text = Redacted.value(secret)
          expect(text).toMatch(/^tg[co]_[\w-]{43}$/)
          for (const { row } of rows) {
            for (const form of [
              text,
              Buffer.from(text).toString("hex"),
              Buffer.from(text.slice(4), "base64url").toString("hex")
            ])
              expect(row).not.toContain(form)
          }
        }
      })
    )

    it.effect("do not open with a code that is two minutes old", () =>
      Effect.gen(function* () {
        const sessions = yield* OperatorSessions
        const { code } = yield* created
        yield* pass(119)
        expect((yield* sessions.open(code, ADDRESS)).session.actor).toBe(ANI)
        const late = (yield* created).code
        yield* pass(120)
        expect(yield* Effect.either(sessions.open(late, ADDRESS))).toEqual(Either.left(new InvalidConsoleCode()))
      })
    )

    it.effect("expire after 30 minutes without a use", () =>
      Effect.gen(function* () {
        const { token } = yield* opened
        for (let i = 0; i < 3; i++) {
          yield* pass(29 * 60)
          expect(Either.isRight(yield* use(token))).toBe(true)
        }
        yield* pass(30 * 60)
        expect(yield* use(token)).toEqual(refused)
      })
    )

    it.effect("expire 8 hours after the redemption", () =>
      Effect.gen(function* () {
        const { token } = yield* opened
        for (let i = 0; i < 19; i++) {
          yield* pass(25 * 60)
          expect(Either.isRight(yield* use(token))).toBe(true)
        }
        yield* pass(5 * 60)
        expect(yield* use(token)).toEqual(refused)
      })
    )

    it.effect("end immediately when they are revoked", () =>
      Effect.gen(function* () {
        const sessions = yield* OperatorSessions
        const { code, session } = yield* created
        yield* sessions.end(session.id, operator)
        expect(yield* Effect.either(sessions.open(code, ADDRESS))).toEqual(Either.left(new InvalidConsoleCode()))
        const actions = (yield* audited(session.id)).map(({ action }) => action)
        expect(actions).toEqual(["console.create", "console.end"])

        const { session: other, token } = yield* opened
        const { now, session: ended } = yield* sessions.end(other.id, operator)
        expect(stateOf(ended, now)).toBe("ended")
        expect(yield* use(token)).toEqual(refused)
        expect((yield* sessions.end(other.id, operator)).session.endedAt).toEqual(ended.endedAt)
        expect((yield* audited(other.id)).at(-1)).toMatchObject({
          actor: operator.actor,
          action: "console.end",
          reason: operator.reason,
          detail: { actor: ANI, state_before: "open" }
        })
        expect((yield* audited(other.id)).length).toBe(3)
      })
    )

    it.effect("cannot be revoked if they are unknown", () =>
      Effect.gen(function* () {
        const sessions = yield* OperatorSessions
        const unknown = OperatorSessionId.make("019a9f0e-7777-7d1a-9a41-6f1f0d7b2c11")
        expect(yield* Effect.either(sessions.end(unknown, operator))).toEqual(
          Either.left(new OperatorSessionNotFound({ id: unknown }))
        )
      })
    )

    it.effect("end together when an operator revokes all sessions", () =>
      Effect.gen(function* () {
        const sessions = yield* OperatorSessions
        yield* sessions.endAll(operator)
        const { token } = yield* opened
        const { code, session } = yield* created
        expect((yield* sessions.endAll(operator)).map(({ actor }) => actor)).toEqual([ANI, ANI])
        expect(yield* use(token)).toEqual(refused)
        expect(Either.isLeft(yield* Effect.either(sessions.open(code, ADDRESS)))).toBe(true)
        expect(yield* sessions.endAll(operator)).toEqual([])
        const [newest] = yield* sessions.list
        expect(newest).toMatchObject({ session: { id: session.id } })
      })
    )

    it.effect("cannot get another token, opening time or actor by a statement", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { session } = yield* opened
        for (const change of ["token_digest = sha256('x')", "opened_at = now()", "actor = 'eve'"]) {
          const changed = yield* Effect.either(
            sql`UPDATE operator_session SET ${sql.literal(change)} WHERE id = ${session.id}`
          )
          expect(Either.isLeft(changed) && sqlState(changed.left), change).toBe(RESTRICT)
        }
      })
    )

    it.effect("are deleted at the next creation when they are a week old", () =>
      Effect.gen(function* () {
        const sessions = yield* OperatorSessions
        const { session } = yield* opened
        yield* pass(7 * 24 * 3_600)
        expect((yield* sessions.list).map((read) => read.session.id)).toContain(session.id)
        const { session: kept } = yield* created
        expect((yield* sessions.list).map((read) => read.session.id)).toEqual([kept.id])
      })
    )
  })
})
