import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { afterEach, describe, expect, it, vi } from "vitest"
import { daysBetween, formatOf } from "../../apps/console/src/format/Format.ts"
import { type ClientName, clientNames, settingsOf } from "../../apps/console/src/ui/ClientPrograms.ts"

const [id, en] = [formatOf("id"), formatOf("en")]

afterEach(() => vi.unstubAllEnvs())

describe("an amount of money", () => {
  it("has the number format of the language", () => {
    expect(id.idr(50_000)).toBe("Rp50.000")
    expect(en.idr(50_000)).toBe("Rp50,000")
    expect(id.usd("5000000")).toBe("$5,00")
    expect(en.usd("5000000")).toBe("$5.00")
  })

  it("is exact beyond the range of floating-point numbers", () => {
    expect(en.usd("25000123")).toBe("$25.000123")
    expect(en.usd("9007199254740993000001")).toBe("$9,007,199,254,740,993.000001")
    expect(en.usd(-1)).toBe("-$0.000001")
    expect(en.usd(0n)).toBe("$0.00")
  })

  it("is rounded to a whole micro-USD if it is a cost", () => {
    expect(en.cost("474")).toBe("$0.000474")
    expect(en.cost("1234567.5")).toBe("$1.234568")
  })
})

describe("a time", () => {
  it("is shown in WIB in every time zone of the device", () => {
    for (const zone of ["America/New_York", "Asia/Jakarta", "Pacific/Auckland"]) {
      vi.stubEnv("TZ", zone)
      expect(formatOf("en").time("2026-11-20T18:05:00.000Z")).toBe("21 Nov 2026, 01:05 WIB")
      expect(formatOf("id").time("2026-11-20T18:05:00.000Z")).toBe("21 Nov 2026, 01.05 WIB")
      expect(formatOf("id").day("2026-08-17")).toBe("17 Agu 2026")
    }
  })
})

describe("a range of days", () => {
  it("contains each day from the first to the last day", () => {
    expect(daysBetween("2026-02-27", "2026-03-01")).toEqual(["2026-02-27", "2026-02-28", "2026-03-01"])
  })
})

describe("the settings of client programs", () => {
  it("appear line by line in docs/clients.md, except for curl", () => {
    const document = readFileSync(resolve(import.meta.dirname, "../../docs/clients.md"), "utf8")
    const documented = new Set(document.split("\n").map((line) => line.replace(/ +#.*$/, "").trim()))
    const target = { origin: "http://127.0.0.1:8080", key: "$TOLLGATE_KEY", model: "demo-chat" }
    const isKnown = (line: string) => documented.has(line) || document.includes(`\`${line.replace(/^export /, "")}\``)
    const lines = clientNames
      .filter((name) => name !== "curl")
      .flatMap((name) => settingsOf(name, target))
      .flatMap(({ text }) => text.split("\n"))
      .map((line) => line.trim().replace('"name": "demo-chat"', '"name": "Demo chat"'))
      .filter((line) => line !== "" && line !== "export TOLLGATE_KEY=$TOLLGATE_KEY")
    expect(lines.length).toBeGreaterThan(25)
    expect(lines.filter((line) => !isKnown(line))).toEqual([])
  })

  it("contain the key and the URL of the gateway", () => {
    const settings = (name: ClientName) =>
      settingsOf(name, { origin: "https://gate.example", key: "tg_key", model: 'a"b' })
        .map(({ text }) => text)
        .join("\n")
    for (const name of clientNames) {
      expect(settings(name)).toContain("tg_key")
      expect(settings(name)).toContain("https://gate.example")
    }
    for (const name of ["curl", "codex", "opencode"] as const) expect(settings(name)).toContain('"a\\"b"')
    expect(settings("claudeCode")).toContain(`ANTHROPIC_MODEL='a"b'`)
  })
})
