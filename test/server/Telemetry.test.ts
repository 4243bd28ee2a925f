import { it } from "@effect/vitest"
import { Console, Effect, Layer } from "effect"
import { describe, expect } from "vitest"
import * as Telemetry from "../../apps/server/src/Telemetry.ts"

/** Returns the lines of a log entry with `text` as its field `detail`. */
const logged = (text: string, settings: Partial<Parameters<typeof Telemetry.layer>[0]>, log = Effect.logWarning) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const real = yield* Effect.console
    const error = (line: unknown) => Effect.sync(() => void lines.push(String(line)))
    const console: Console.Console = {
      ...real,
      error,
      unsafe: { ...real.unsafe, error: (line: unknown) => void lines.push(String(line)) }
    }
    const layer = Layer.provideMerge(
      Telemetry.layer({ production: true, LOG_LEVEL: "info", ...settings }),
      Console.setConsole(console)
    )
    yield* Effect.provide(log("refused", { detail: text }), layer)
    return lines
  })

describe("a log entry", () => {
  // The last part contains every control character.
  const HOSTILE =
    "\u001b[2J\u009b1m\r\nat=2026 level=ERROR\u2028\u202e" +
    String.fromCharCode(...Array.from({ length: 0xa0 }, (_, code) => code))

  it.effect.each(["json", "logfmt", "pretty"] as const)("is one line without control characters: %s", (format) =>
    Effect.gen(function* () {
      const lines = yield* logged(HOSTILE, { LOG_FORMAT: format })
      expect(lines).toHaveLength(1)
      expect(lines[0]).not.toMatch(/[\p{Cc}\u2028\u202e]/u)
      expect(lines[0]).toContain("\\u001b[2J\\u009b1m\\r\\nat=2026")
    })
  )

  it.effect("contains the exact text of a field in the format `json`", () =>
    Effect.gen(function* () {
      const [line = ""] = yield* logged(HOSTILE, {})
      expect(JSON.parse(line)).toMatchObject({ message: "refused", level: "WARN", detail: HOSTILE })
    })
  )

  it.effect("consists of `name=value` pairs in the format `logfmt`", () =>
    Effect.gen(function* () {
      const [line = ""] = yield* logged('a "b"', { LOG_FORMAT: "logfmt" })
      expect(line).toMatch(/^at=\S+Z level=WARN message=refused detail="a \\"b\\""$/)
    })
  )

  it.effect("begins with time, level and message in the format `pretty`", () =>
    Effect.gen(function* () {
      const [line = ""] = yield* logged("a", { production: false })
      expect(line).toMatch(/^\S+Z WARN refused detail=a$/)
    })
  )

  it.effect.each([
    ["error", Effect.logWarning, 0],
    ["error", Effect.logError, 1],
    ["info", Effect.logDebug, 0],
    ["debug", Effect.logDebug, 1],
    ["none", Effect.logFatal, 0]
  ] as const)("is written only if its level is LOG_LEVEL or higher: %s", ([level, log, count]) =>
    Effect.gen(function* () {
      expect(yield* logged("a", { LOG_LEVEL: level }, log)).toHaveLength(count)
    })
  )
})
