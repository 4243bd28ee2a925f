/** Tests that the Dockerfile agrees with the workspaces, the systemd unit and the documents. */
import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { describe, expect, it } from "vitest"

const ROOT = resolve(import.meta.dirname, "../..")
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8")

const COMMAND = [
  "node",
  "--max-semi-space-size=64",
  "--v8-pool-size=1",
  "--heap-growing-percent=100",
  "apps/server/dist/main.js"
]

describe("the Dockerfile", () => {
  const dockerfile = read("Dockerfile")

  it("copies the manifests before it installs the dependencies", () => {
    const workspaces = ["packages", "apps"].flatMap((folder) =>
      readdirSync(join(ROOT, folder)).map((name) => `${folder}/${name}`)
    )
    const copied = [...dockerfile.matchAll(/^COPY (\S+)\/package\.json \1\/$/gm)].map(([, folder]) => folder)
    expect([...copied].sort()).toEqual([...workspaces].sort())
    const lastCopy = Math.max(...copied.map((folder) => dockerfile.indexOf(`COPY ${folder}/package.json `)))
    expect(dockerfile.search(/^RUN .*npm ci/m)).toBeGreaterThan(lastCopy)
  })

  it("starts the server with the command of the systemd unit", () => {
    expect(dockerfile).toContain(`\nCMD ${JSON.stringify(COMMAND).replaceAll(",", ", ")}\n`)
    expect(read("deploy/systemd/tollgate.service")).toContain(`\nExecStart=/usr/bin/${COMMAND.join(" ")}\n`)
    expect(read("docs/operations.md")).toContain(`\`${COMMAND.join(" ")}\``)
  })

  it("runs as a numbered user that is not root", () => {
    expect(dockerfile).toMatch(/^USER 1000:1000$/m)
  })

  it("reports its health by /healthz", () => {
    expect(dockerfile).toMatch(/^HEALTHCHECK .*\n.*\/healthz/m)
  })
})
