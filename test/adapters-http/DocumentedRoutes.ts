/**
 * Checks the OpenAPI document of one route: its responses, its error codes, and the examples of its body.
 */
import { Either, Schema } from "effect"
import { expect } from "vitest"
import { operation, resolved } from "./OpenApiDocument.ts"

/** The success status of a route and its error codes by status. */
export type DocumentedResponses = readonly [success: number, codes: Readonly<Record<number, ReadonlyArray<string>>>]

/** The responses of each route, such as `GET /api/reseller/me`. */
export type DocumentedRoutes = Readonly<Record<string, DocumentedResponses>>

export type DocumentedBodies = ReadonlyArray<readonly [route: string, schema: Schema.Schema.AnyNoContext]>

const sorted = (texts: ReadonlyArray<string>): ReadonlyArray<string> => [...texts].sort()

/** Checks the documentation of a route. `scheme` is undefined if the route needs no token. */
export const expectResponses = (
  route: string,
  [success, codes]: DocumentedResponses,
  scheme: string | undefined
): void => {
  const { summary, security, responses } = operation(route)
  expect(summary).toBeTruthy()
  expect(security).toEqual(scheme === undefined ? [] : [{ [scheme]: [] }])
  const statuses = Object.keys(responses).map(Number)
  expect(statuses).toEqual([success, ...Object.keys(codes).map(Number)].sort((a, b) => a - b))
  for (const [status, expected] of Object.entries(codes)) {
    const response = responses[status]
    for (const code of expected) expect(response?.description).toContain(`\`${code}\``)
    const { schema, examples } = response?.content["application/json"] ?? {}
    const [base, member] = schema?.allOf ?? []
    expect(base).toEqual({ $ref: "#/components/schemas/ApiError" })
    const allowed = member?.properties?.error?.properties?.code?.enum as ReadonlyArray<string>
    expect(sorted(allowed)).toEqual(sorted(expected))
    expect(sorted(Object.keys(examples ?? {}))).toEqual(sorted(expected))
    for (const [code, { value }] of Object.entries(examples ?? {})) {
      expect(value).toMatchObject({ error: { code, message: expect.any(String), request_id: expect.any(String) } })
    }
  }
}

/** Checks that the schema accepts the examples of the body, and that the document allows unknown members. */
export const expectValidExamples = (route: string, schema: Schema.Schema.AnyNoContext): void => {
  const body = resolved(operation(route).requestBody?.content["application/json"]?.schema ?? {})
  expect(body.examples?.length).toBeGreaterThan(0)
  for (const example of body.examples ?? []) {
    expect(Either.isRight(Schema.decodeUnknownEither(schema)(example))).toBe(true)
  }
  expect(body.additionalProperties).not.toBe(false)
}
