/**
 * Checks that a reply of the gateway is stated by the OpenAPI document: its path, method and status, its headers, its
 * content type, and its body or the data of its events.
 */

import { pathOf } from "@tollgate/adapters-http/http/SurfaceError"
import { DEFAULT_BILLING_HEADER } from "@tollgate/adapters-http/openapi/HeaderDocs"
import {
  deviationOf,
  document,
  type Header,
  isHeaderValue,
  type MediaType,
  type Operation,
  type Response,
  resolved
} from "./Document.ts"
import type { RecordedReply } from "./RecordedReply.ts"

/** Pages and their files, which the document does not describe. */
const PAGES: ReadonlyArray<RegExp> = [
  /^\/docs(\/|$)/,
  /^\/openapi\.json$/,
  /^\/rankings(\/|$)/,
  /^\/console(\/|$)/,
  /^\/assets\//
]

/** Returns whether the reply is an HTML page, such as the page at `/` and the page for an unknown path. */
const isPage = ({ headers, status }: RecordedReply): boolean =>
  headers["content-type"]?.startsWith("text/html") === true && [200, 404, 500].includes(status)

/** Routes that only explain an error. The document does not describe these routes. Each of them needs an API key. */
const EXPLAINING: ReadonlyArray<RegExp> = [/^\/v1\/responses\/[^/]+(\/|$)/]

/** Headers that the document does not state, in addition to the headers of CORS. */
const HTTP_HEADERS = new Set([
  ...["connection", "content-encoding", "content-length", "content-type", "date", "keep-alive"],
  ...["transfer-encoding", "vary", "content-security-policy", "referrer-policy", "x-content-type-options"]
])

const HELP = `
The OpenAPI document (GET /openapi.json) must state every reply. Declare what is missing:
- a route: an HttpApiGroup in the folder of its feature, and packages/adapters-http/src/server/GatewayApi.ts
- an error of a reseller route: its tag in the \`errors\` of documented(...)
- an error of an inference route: .addError(refusal(status, code)), with its meaning and an example in InferenceDocs.ts
- a response header: HeaderDocs.ts for errors, or a \`transform\` of the endpoint (see ImagesApi.ts)
- a member of a body: the schema of the response, beside the route
- a page or a file of a page: PAGES in test/support/openapi/DocumentedReplies.ts`

/**
 * Returns the difference of the reply from the document with the action for the developer, or undefined if there is
 * none.
 */
export const deviationOfReply = (reply: RecordedReply): string | undefined => {
  const found = problemOf(reply)
  if (found === undefined) return undefined
  const { method, target, status, body = "", test } = reply
  return `${method} ${target.slice(0, 200)} replied ${status}: ${found}\nbody: ${body.slice(0, 600)}\ntest: ${test}\n${HELP}`
}

const problemOf = (reply: RecordedReply): string | undefined => {
  const { method, status } = reply
  const path = pathOf(reply.target.replace(/^https?:\/\/[^/]*/, ""))
  if (method === "OPTIONS" && status === 204) return undefined
  if (isPage(reply)) return undefined
  const operation = operationOf(method === "HEAD" ? "GET" : method, path)
  const own = operation?.responses[String(status)]
  const common = document["x-common-responses"][String(status)]
  if (own !== undefined) {
    const problem = problemOfResponse(reply, own)
    return problem === undefined || common === undefined
      ? problem
      : problemOfResponse(reply, resolved<Response>(common)) && problem
  }
  if (operation === undefined && PAGES.some((page) => page.test(path)) && [200, 304].includes(status)) return undefined
  if (EXPLAINING.some((route) => route.test(path)) && [401, 404].includes(status)) return undefined
  if (common !== undefined) return problemOfResponse(reply, resolved<Response>(common))
  return operation === undefined
    ? "the document has no operation for this path and method"
    : `the operation ${operation.operationId} does not state the status ${status}`
}

const problemOfResponse = (reply: RecordedReply, response: Response): string | undefined => {
  const { method, body } = reply
  const headers = withDefaultServiceName(reply.headers)
  for (const [name, declared] of Object.entries(response.headers ?? {})) {
    const { required = false, schema } = resolved<Header>(declared)
    const value = headers[name]
    if (value === undefined ? required : !isHeaderValue(schema, value))
      return `the header ${name} is ${value ?? "missing"}`
  }
  for (const name of Object.keys(headers)) {
    const isKnown =
      HTTP_HEADERS.has(name) || name.startsWith("access-control-") || response.headers?.[name] !== undefined
    if (!isKnown) return `the document does not state the header ${name} of this response`
  }
  if (response.content === undefined) return body === "" ? undefined : "the document states no body for this response"
  const type = headers["content-type"]?.replace(/;.*$/, "") ?? ""
  const media = response.content[type]
  if (media === undefined) return `the document does not state the content type ${type}`
  return method === "HEAD" || body === undefined ? undefined : problemOfBody(media, type, body)
}

/** Replaces the service name in the name of the billing header, which some tests change. */
const withDefaultServiceName = (headers: RecordedReply["headers"]): RecordedReply["headers"] =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.replace(/^x-\w+-billing$/, DEFAULT_BILLING_HEADER), value])
  )

const problemOfBody = (media: MediaType, type: string, body: string): string | undefined => {
  if (type === "application/json") return problemOfJson(media.schema, body, "the body is not JSON")
  const events = media["x-event-schema"]
  if (events === undefined) return deviationOf(media.schema, body)
  for (const frame of body.split(/\r?\n\r?\n/)) {
    const data = frame
      .split(/\r?\n/)
      .flatMap((line) => (line.startsWith("data:") ? [line.slice("data:".length).trim()] : []))
      .join("\n")
    if (data === "" || data === "[DONE]") continue
    const problem = problemOfJson(events, data, "data that is not JSON")
    if (problem !== undefined) return `the event ${frame.slice(0, 600)} has ${problem}`
  }
  return undefined
}

const problemOfJson = (schema: object, text: string, notJson: string): string | undefined => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return notJson
  }
  return deviationOf(schema, value)
}

const routes = Object.entries(document.paths).map(([path, methods]) => ({
  methods,
  // The name of a model can contain slashes.
  pattern: new RegExp(
    `^${path
      .replace(/[.]/g, "\\.")
      .replace("{model}", ".+")
      .replace(/\{\w+\}/g, "[^/]*")}$`
  ),
  isFixed: !path.includes("{")
}))
const ordered = [...routes.filter(({ isFixed }) => isFixed), ...routes.filter(({ isFixed }) => !isFixed)]

const operationOf = (method: string, path: string): Operation | undefined => {
  const name = method.toLowerCase()
  return ordered.find(({ pattern, methods }) => methods[name] !== undefined && pattern.test(path))?.methods[name]
}
