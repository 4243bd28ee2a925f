/**
 * Answers about the server itself.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Database } from "@tollgate/application/operations/Database"
import * as Effect from "effect/Effect"
import { InFlight } from "../http/InFlight.ts"
import { GatewayApi } from "./GatewayApi.ts"
import { NotReady } from "./OperationsApi.ts"

const notReady = (reason: NotReady["reason"]) => Effect.fail(new NotReady({ status: "not_ready", reason }))

export const layer = HttpApiBuilder.group(GatewayApi, "operations", (handlers) =>
  Effect.gen(function* () {
    const database = yield* Database
    const inFlight = yield* InFlight
    return handlers
      .handle("service", () => Effect.succeed({ docs: "/docs", openapi: "/openapi.json" } as const))
      .handle("alive", () => Effect.succeed({ status: "ok" } as const))
      .handle("ready", () =>
        Effect.gen(function* () {
          if (inFlight.draining) return yield* notReady("draining")
          if (yield* database.reachable) return { status: "ready" } as const
          return yield* notReady("database_unreachable")
        })
      )
  })
)
