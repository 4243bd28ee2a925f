import { userInfo } from "node:os"
import { describe, expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { afterEach } from "vitest"
import { A_TIME, AN_ID, audited, layer as commandLine, documentOf, tollgate } from "../CommandLine.ts"

interface Created {
  readonly session_id: string
  readonly url: string
}
const createdIn = (printed: Parameters<typeof documentOf>[0]) => documentOf(printed) as Created

afterEach(() => {
  for (const name of ["PUBLIC_BASE_URL", "OPERATOR_CONSOLE", "NODE_ENV", "PORT"]) delete process.env[name]
})

describe("tollgate console", () => {
  layer(commandLine, { excludeTestServices: true })((it) => {
    it.effect("prints a link with the code in the fragment", () =>
      Effect.gen(function* () {
        const actor = userInfo().username
        const created = yield* tollgate("console", "--json")
        expect(documentOf(created)).toEqual({
          session_id: AN_ID,
          actor,
          url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:8080\/console\/operator#code=tgc_[\w-]{43}$/),
          code_expires_at: A_TIME
        })
        process.env.PUBLIC_BASE_URL = "https://gateway.example/"
        const named = yield* tollgate("console", "--name", "ani@example.com", "--reason", "ticket 9")
        expect(named.stdout).toMatch(
          /in the name of ani@example\.com:\n\n {2}https:\/\/gateway\.example\/console\/operator#code=\S+\n/
        )
        expect(yield* audited).toMatchObject([
          { actor, action: "console.create", reason: "cli: console", detail: { actor } },
          { actor, action: "console.create", reason: "ticket 9", detail: { actor: "ani@example.com" } }
        ])
      })
    )

    it.effect("creates no session if PORT is 0, because the address of the server is unknown", () =>
      Effect.gen(function* () {
        process.env.PORT = "0"
        const before = (yield* audited).length
        const refused = yield* tollgate("console")
        expect(refused).toMatchObject({ code: 1, stdout: "" })
        expect(refused.stderr).toContain("PORT is 0")
        expect(yield* audited).toHaveLength(before)
        process.env.PUBLIC_BASE_URL = "https://gateway.example"
        expect((yield* tollgate("console")).stdout).toContain("https://gateway.example/console/operator#code=")
      })
    )

    it.effect("refuses a reserved or empty name", () =>
      Effect.gen(function* () {
        for (const name of ["server", "reseller:1", ""]) {
          expect(yield* tollgate("console", "--name", name), name).toMatchObject({ code: 2, stdout: "" })
        }
      })
    )

    it.effect("prints no link if the operator console is off", () =>
      Effect.gen(function* () {
        process.env.OPERATOR_CONSOLE = "off"
        const off = yield* tollgate("console", "--json")
        expect(off.code).toBe(3)
        expect(documentOf(off)).toMatchObject({ error: { code: "operator_console_off" } })
      })
    )

    it.effect("lists and revokes the sessions without their codes", () =>
      Effect.gen(function* () {
        yield* tollgate("console", "revoke", "--all")
        const first = createdIn(yield* tollgate("console", "--name", "ani", "--json"))
        const second = createdIn(yield* tollgate("console", "--name", "budi", "--json"))
        const listed = yield* tollgate("console", "list", "--json")
        const waiting = { state: "waiting", created_at: A_TIME, opened_at: null, used_at: null, ended_at: null }
        expect((documentOf(listed) as ReadonlyArray<object>).slice(0, 2)).toEqual([
          { ...waiting, session_id: second.session_id, actor: "budi", expires_at: A_TIME },
          { ...waiting, session_id: first.session_id, actor: "ani", expires_at: A_TIME }
        ])
        expect(listed.stdout).not.toContain("tgc_")
        expect((yield* tollgate("console", "list")).stdout).toMatch(
          /^CREATED +ACTOR +STATE +LAST USE +EXPIRES +SESSION ID$/m
        )

        const revoked = yield* tollgate("console", "revoke", first.session_id, "--json")
        expect(documentOf(revoked)).toMatchObject({ session_id: first.session_id, state: "ended", ended_at: A_TIME })
        const all = yield* tollgate("console", "revoke", "--all", "--json")
        expect(documentOf(all)).toEqual({ ended: [second.session_id] })
        expect((yield* tollgate("console", "revoke", "--all")).stdout).toBe("Ended 0 sessions.\n")
      })
    )

    it.effect("refuses to revoke without a known id", () =>
      Effect.gen(function* () {
        expect(yield* tollgate("console", "revoke")).toMatchObject({ code: 2, stdout: "" })
        expect(yield* tollgate("console", "revoke", "7")).toMatchObject({ code: 2, stdout: "" })
        const unknown = yield* tollgate("console", "revoke", "019a9f0e-7777-7d1a-9a41-6f1f0d7b2c11", "--json")
        expect(unknown.code).toBe(3)
        expect(documentOf(unknown)).toMatchObject({ error: { code: "session_not_found" } })
      })
    )
  })
})
