import { it } from "@effect/vitest"
import type { ServerConfig } from "@tollgate/composition/ServerConfig"
import { Console, Effect, Layer } from "effect"
import { describe, expect } from "vitest"
import * as Telemetry from "../../apps/server/src/Telemetry.ts"

/** Returns the lines that the log of a server contains after an entry with `text` as its field `detail`. */
const logged = (text: string, production: boolean) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const real = yield* Effect.console
    const error = (line: unknown) => Effect.sync(() => void lines.push(String(line)))
    const console: Console.Console = {
      ...real,
      error,
      unsafe: { ...real.unsafe, error: (line: unknown) => void lines.push(String(line)) }
    }
    const layer = Layer.provideMerge(Telemetry.layer({ production } as ServerConfig), Console.setConsole(console))
    yield* Effect.provide(Effect.logWarning("refused", { detail: text }), layer)
    return lines
  })

describe("a log entry", () => {
  const HOSTILE = "\u001b[2J\u009b1m\r\nat=2026 level=ERROR\u2028\u202e\u0000"

  it.effect.each([true, false])(
    "is one line without control characters, whatever its fields contain: %s",
    (production) =>
      Effect.gen(function* () {
        const lines = yield* logged(HOSTILE, production)
        expect(lines).toHaveLength(1)
        expect(lines[0]).not.toMatch(/[\p{Cc}\u2028\u202e]/u)
        expect(lines[0]).toContain("\\u001b[2J\\u009b1m\\r\\nat=2026")
      })
  )

  it.effect("keeps the exact text of a field as JSON in production", () =>
    Effect.gen(function* () {
      const [line = ""] = yield* logged(HOSTILE, true)
      expect(JSON.parse(line)).toMatchObject({ message: "refused", level: "WARN", detail: HOSTILE })
    })
  )
})
