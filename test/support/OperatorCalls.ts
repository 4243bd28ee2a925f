/**
 * Sends requests to the operator API of a test programme, in the name of an operator.
 */
import { OperatorSessions } from "@tollgate/application/operator/OperatorSessions"
import { OperatorName } from "@tollgate/domain/operator/OperatorSession"
import type { ClientAddress } from "@tollgate/domain/reseller/AttemptLimit"
import { Effect, Redacted } from "effect"
import { expect } from "vitest"
import { textOf } from "./SimulatedPayments.ts"
import { operator } from "./Stores.ts"
import type { ApiResponse, TestProgramme } from "./TestProgramme.ts"

export interface OperatorCalls {
  readonly token: string
  readonly get: (path: string) => Promise<ApiResponse>
  readonly post: (path: string, body?: unknown) => Promise<ApiResponse>
  readonly put: (path: string, body: unknown) => Promise<ApiResponse>
  readonly all: (path: string, limit: number) => Promise<ReadonlyArray<unknown>>
}

const API = "/api/operator"

/** Paths are relative to `/api/operator`. */
export const operatorCalls = async (programme: TestProgramme, actor: string): Promise<OperatorCalls> => {
  const token = await programme.run(
    Effect.gen(function* () {
      const sessions = yield* OperatorSessions
      const { code } = yield* sessions.create(OperatorName.make(actor), operator)
      const opened = yield* sessions.open(code, "127.0.0.1" as ClientAddress)
      return Redacted.value(opened.token)
    })
  )
  const get = (path: string) => programme.get(API + path, { token })
  return {
    token,
    get,
    post: (path, body) => programme.post(API + path, { token, body }),
    put: (path, body) => programme.ask("PUT", API + path, { token, body }),
    all: async (path, limit) => {
      const items: Array<unknown> = []
      let cursor = ""
      for (;;) {
        const { status, body } = await get(`${path}${path.includes("?") ? "&" : "?"}limit=${limit}${cursor}`)
        const { data, next_cursor } = body as unknown as { data: ReadonlyArray<unknown>; next_cursor: string | null }
        expect(status).toBe(200)
        items.push(...data)
        if (next_cursor === null) return items
        expect(data.length).toBe(limit)
        cursor = `&cursor=${textOf(body.next_cursor)}`
      }
    }
  }
}
