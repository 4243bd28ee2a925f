import { createConfig, lintFromString } from "@redocly/openapi-core"
import { describe, expect, it } from "vitest"
import {
  deviationOf,
  document,
  type MediaType,
  type Operation,
  type Response,
  resolved
} from "../../support/openapi/Document.ts"

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation }))
)

const mediaTypesOf = ({ requestBody, responses }: Operation): ReadonlyArray<readonly [name: string, MediaType]> => [
  ...Object.entries(requestBody?.content ?? {}),
  ...Object.entries(responses).flatMap(([status, { content = {} }]) =>
    Object.entries(content).map(([type, media]) => [`${status} ${type}`, media] as const)
  )
]

/** The linter and the compilation need one or two seconds of CPU time, and longer on a busy machine. */
const TIMEOUT_MILLIS = 120_000

describe("the OpenAPI document", () => {
  it(
    "passes the linter",
    async () => {
      const config = await createConfig({
        extends: ["recommended"],
        rules: {
          "no-invalid-media-type-examples": { severity: "error", allowAdditionalProperties: true },
          "no-invalid-schema-examples": { severity: "error", allowAdditionalProperties: true },
          "operation-operationId": "error",
          "operation-operationId-url-safe": "error",
          "tag-description": "error",
          // The owner has not chosen a licence.
          "info-license": "off",
          // The probes and the links of the server have no 4xx response.
          "operation-4xx-response": "off",
          // This rule does not see references in extensions. A test below checks the references to components.
          "no-unused-components": "off"
        }
      })
      const problems = await lintFromString({ source: JSON.stringify(document), absoluteRef: "openapi.json", config })
      expect(problems.map(({ ruleId, message, location }) => `${ruleId} ${location[0]?.pointer}: ${message}`)).toEqual(
        []
      )
    },
    TIMEOUT_MILLIS
  )

  it.each([{ stream: null }, { stream_options: null }, { stream: true, stream_options: { include_usage: null } }])(
    "accepts a chat request with the members %j",
    (members) => {
      const schema = { $ref: "#/components/schemas/ChatCompletionRequest" }
      const request = { model: "m", messages: [{ role: "user", content: "Hello" }], ...members }
      expect(deviationOf(schema, request)).toBeUndefined()
    }
  )

  it("has no `$id`", () => {
    expect(JSON.stringify(document)).not.toContain('"$id"')
  })

  it(
    "has schemas that compile in JSON Schema 2020-12",
    () => {
      for (const name of Object.keys(document.components.schemas)) {
        expect(() => deviationOf({ $ref: `#/components/schemas/${name}` }, {}), name).not.toThrow()
      }
      for (const { name, operation } of operations) {
        for (const [type, media] of mediaTypesOf(operation)) {
          expect(() => deviationOf(media.schema, {}), `${name} ${type}`).not.toThrow()
        }
      }
    },
    TIMEOUT_MILLIS
  )

  it("refers to each of its components except the security schemes", () => {
    const text = JSON.stringify(document)
    for (const [kind, components] of Object.entries(document.components)) {
      if (kind === "securitySchemes") continue
      for (const name of Object.keys(components)) expect(text, name).toContain(`"$ref":"#/components/${kind}/${name}"`)
    }
  })

  it("has valid examples of components, requests and responses", () => {
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      for (const example of (schema as { readonly examples?: ReadonlyArray<unknown> }).examples ?? []) {
        expect(deviationOf({ $ref: `#/components/schemas/${name}` }, example), name).toBeUndefined()
      }
    }
    for (const { name, operation } of operations) {
      for (const [type, { schema, examples = {} }] of mediaTypesOf(operation)) {
        for (const [key, { value }] of Object.entries(examples)) {
          expect(deviationOf(schema, value), `${name} ${type} ${key}`).toBeUndefined()
        }
      }
    }
  })

  it("shows each error code under only one status", () => {
    const statuses = new Map<string, Set<string>>()
    for (const { operation } of operations) {
      for (const [status, response] of Object.entries(operation.responses)) {
        for (const { value } of Object.values(response.content?.["application/json"]?.examples ?? {})) {
          const { code = "" } = (value as { readonly error?: { readonly code: string } }).error ?? {}
          statuses.set(code, (statuses.get(code) ?? new Set()).add(status))
        }
      }
    }
    expect(statuses.size).toBeGreaterThan(25)
    expect(
      Object.fromEntries(
        [...statuses].filter(([, statuses]) => statuses.size > 1).map(([code, statuses]) => [code, [...statuses]])
      )
    ).toEqual({})
  })

  it("declares x-request-id and cache-control for each response", () => {
    for (const { name, operation } of operations) {
      for (const [status, response] of Object.entries(operation.responses)) {
        const headers = Object.keys(response.headers ?? {})
        expect(headers, `${name} ${status}`).toEqual(expect.arrayContaining(["x-request-id", "cache-control"]))
        if (status === "429") expect(headers, name).toContain("retry-after")
      }
    }
    const { headers = {} } = resolved<Response>({ $ref: "#/components/responses/MethodNotAllowed" })
    expect(headers).toHaveProperty("allow")
  })

  it("has unique operation ids that are valid names of functions", () => {
    const ids = operations.map(({ operation }) => operation.operationId)
    expect(new Set(ids).size).toBe(ids.length)
    for (const id of ids) expect(id).toMatch(/^[a-z]+[A-Z][A-Za-z]+$|^(signUp|logIn|logOut)$/)
  })

  it("has summaries without a full stop", () => {
    for (const { name, operation } of operations) expect(operation.summary, name).toMatch(/^[A-Z].{4,}[^.]$/)
  })
})
