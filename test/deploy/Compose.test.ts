/**
 * Tests that compose.yaml and the commands of docs/operations.md, "Going live with containers", agree with the program.
 */
import { existsSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { Environment, readServerConfig } from "@tollgate/composition/ServerConfig"
import { parseCatalogFile } from "@tollgate/domain/catalog/CatalogFile"
import { Either } from "effect"
import { describe, expect, it } from "vitest"
import { parse } from "yaml"
import { commandsBelow } from "../support/DocumentedCommands.ts"

const ROOT = resolve(import.meta.dirname, "../..")
const text = readFileSync(join(ROOT, "compose.yaml"), "utf8")
const compose = parse(text, { merge: true, strict: true })
const { gateway, migrate, prometheus, grafana } = compose.services
const defaults = Either.getOrThrow(readServerConfig({}))

const documented = commandsBelow("Going live with containers").join("")
const written = (file: string): string =>
  documented.split(new RegExp(`^cat > ${file.replaceAll(".", "\\.")} <<'?END'?\n`, "m"))[1]?.split(/^END$/m)[0] ?? ""
const variablesIn = (lines: string): ReadonlyArray<string> =>
  [...lines.matchAll(/^([A-Z_]+)=/gm)].map(([, name = ""]) => name)

describe("compose.yaml", () => {
  it("runs the migration before the server", () => {
    expect(migrate).toMatchObject({ image: gateway.image, build: gateway.build, command: ["tollgate", "migrate"] })
    expect(gateway.command).toBeUndefined()
    expect(gateway.depends_on).toEqual({ migrate: { condition: "service_completed_successfully" } })
  })

  it("sets only settings and provider keys for the server", () => {
    const catalog = JSON.parse(written("catalog.json"))
    const names = [...Object.keys(gateway.environment), ...variablesIn(written("gateway.env"))]
    const keys = catalog.providers.map((provider: { api_key_env: string }) => provider.api_key_env)
    expect(names).toEqual(expect.arrayContaining(["DATABASE_URL", "JWT_SECRET", "KEY_PEPPER", ...keys]))
    expect(names.filter((name) => !Object.hasOwn(Environment.fields, name) && !keys.includes(name))).toEqual([])
  })

  it("is documented with a valid catalog", () => {
    expect(parseCatalogFile(JSON.parse(written("catalog.json")))).toSatisfy(Either.isRight)
  })

  it("reads the variables of the documented file .env", () => {
    const read = [...text.matchAll(/\$\{([A-Z_]+)/g)].map(([, name = ""]) => name)
    expect([...new Set(read)].sort()).toEqual([...variablesIn(written(".env"))].sort())
    expect(variablesIn(written(".env"))).toContain(compose.secrets["metrics-token"].environment)
  })

  it("publishes the server's default port on loopback", () => {
    expect(gateway.ports).toEqual([`127.0.0.1:${defaults.PORT}:${defaults.PORT}`])
    const { scrape_configs: jobs } = parse(readFileSync(join(ROOT, "deploy/compose/prometheus.yml"), "utf8"))
    expect(jobs).toEqual([
      {
        job_name: "tollgate",
        authorization: { credentials_file: `/run/secrets/${prometheus.secrets[0]}` },
        static_configs: [{ targets: [`gateway:${defaults.METRICS_PORT}`] }]
      }
    ])
    // The server would otherwise listen for Prometheus only on the loopback interface of its container.
    expect(gateway.environment.METRICS_HOST).toBe("0.0.0.0")
  })

  it("mounts only files that exist or are documented", () => {
    const mounts: ReadonlyArray<string> = [gateway, prometheus, grafana].flatMap((service) => service.volumes)
    const sources = mounts.map((mount) => mount.split(":")[0] ?? "").filter((source) => source.startsWith("./"))
    expect(sources).toContain("./catalog.json")
    expect(sources.filter((source) => !existsSync(join(ROOT, source)) && source !== "./catalog.json")).toEqual([])
  })

  it("gives a server more than 35 seconds to stop", () => {
    expect(Number.parseInt(gateway.stop_grace_period, 10)).toBeGreaterThan(35)
  })
})
