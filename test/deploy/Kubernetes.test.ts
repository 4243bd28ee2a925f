/** Tests that the Kubernetes manifests agree with the program, with each other and with the image. */
import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { allowedTarget } from "@tollgate/adapters-upstream/webhook/AllowedTargets"
import { Environment, readServerConfig } from "@tollgate/composition/ServerConfig"
import { parseCatalogFile } from "@tollgate/domain/catalog/CatalogFile"
import { Either } from "effect"
import { describe, expect, it } from "vitest"
import { parse, parseAllDocuments } from "yaml"

const ROOT = resolve(import.meta.dirname, "../..")
const FOLDER = "deploy/kubernetes"
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8")

const files: ReadonlyArray<string> = parse(read(`${FOLDER}/base/kustomization.yaml`)).resources
const manifests = files.flatMap((file) =>
  parseAllDocuments(read(`${FOLDER}/base/${file}`), { strict: true }).map((document) => document.toJS())
)
const manifest = (kind: string, name = "tollgate") =>
  manifests.find((each) => each.kind === kind && each.metadata.name === name)
const server = manifest("Deployment").spec.template
const job = manifest("Job", "tollgate-migrate").spec.template
const monitor = parse(read(`${FOLDER}/service-monitor/servicemonitor.yaml`)).spec
const [container] = server.spec.containers
const defaults = Either.getOrThrow(readServerConfig({}))

describe("the Kubernetes manifests", () => {
  // A server exits at most 35 seconds after SIGTERM (docs/operations.md, "Stopping").
  it("give a server more than 35 seconds to stop", () => {
    expect(server.spec.terminationGracePeriodSeconds).toBeGreaterThan(35)
  })

  it("send requests to a server only while /readyz succeeds", () => {
    expect(container.livenessProbe.httpGet).toEqual({ path: "/healthz", port: "http" })
    expect(container.startupProbe.httpGet).toEqual({ path: "/healthz", port: "http" })
    expect(container.readinessProbe.httpGet).toEqual({ path: "/readyz", port: "http" })
  })

  it("allow connections only to the default ports of the server", () => {
    const ports = container.ports.map(({ containerPort }: { containerPort: number }) => containerPort)
    expect(ports).toEqual([defaults.PORT, defaults.METRICS_PORT])
    const allowed = manifest("NetworkPolicy").spec.ingress.flatMap(
      (rule: { ports: ReadonlyArray<unknown> }) => rule.ports
    )
    expect(allowed).toEqual(ports.map((port: number) => ({ port, protocol: "TCP" })))
  })

  it("let the servers connect to every port of webhook endpoints", () => {
    const { egress } = manifest("NetworkPolicy").spec
    const open = egress.flatMap((rule: { ports: ReadonlyArray<{ port: number }> }) =>
      rule.ports.map(({ port }) => port)
    )
    const ports = Array.from({ length: 65_535 }, (_, index) => index + 1)
    const allowed = ports.filter((port) => allowedTarget(`https://hooks.example.com:${port}/`, new Set()) !== undefined)
    expect(allowed).toHaveLength(2)
    expect(open).toEqual(expect.arrayContaining(allowed))
  })

  it("select the pods of the server", () => {
    for (const selector of [
      manifest("Deployment").spec.selector.matchLabels,
      manifest("PodDisruptionBudget").spec.selector.matchLabels,
      manifest("Service").spec.selector,
      manifest("Service", "tollgate-metrics").spec.selector
    ]) {
      expect(selector).toEqual(server.metadata.labels)
    }
    expect(job.metadata.labels).not.toMatchObject(server.metadata.labels)
    expect(manifest("Service", "tollgate-metrics").metadata.labels).toMatchObject(monitor.selector.matchLabels)
    expect(manifest("Service").metadata.labels).not.toMatchObject(monitor.selector.matchLabels)
  })

  it("set only settings of the server", () => {
    const names: ReadonlyArray<string> = [
      ...[...container.env, ...job.spec.containers[0].env].map(({ name }) => name),
      monitor.endpoints[0].authorization.credentials.key
    ]
    expect(names).toContain("METRICS_TOKEN")
    expect(names.filter((name) => !Object.hasOwn(Environment.fields, name))).toEqual([])
  })

  it("run without privileges as the user of the image", () => {
    for (const { spec } of [server, job]) {
      const { runAsUser, runAsGroup } = spec.securityContext
      expect(read("Dockerfile")).toContain(`\nUSER ${runAsUser}:${runAsGroup}\n`)
      expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } })
      expect(spec.containers[0].securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] }
      })
    }
  })

  it("have an example of a valid catalog", () => {
    expect(parseCatalogFile(JSON.parse(read(`${FOLDER}/example/catalog.json`)))).toSatisfy(Either.isRight)
    const [{ mountPath }] = container.volumeMounts
    expect(container.env).toContainEqual({ name: "CATALOG_FILE", value: `${mountPath}/catalog.json` })
  })
})
