/**
 * Generates valid and invalid requests to an operation of the OpenAPI document.
 */
import { type MediaType, type Operation, resolved } from "./Document.ts"

export interface GeneratedRequest {
  readonly method: string
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

export interface RequestPlan {
  readonly path: string
  readonly method: string
  readonly operation: Operation
  /** Values of path parameters that exist. */
  readonly known: Readonly<Record<string, string>>
  /** The token of a reseller. */
  readonly token: string
  readonly apiKey: string
}

type Json = Readonly<Record<string, unknown>>

const METHODS = ["HEAD", "PUT", "DELETE"]
const UNKNOWN_ID = "019a9f0e-0000-7d1a-9a41-6f1f0d7b2c11"
const WRONG_VALUES: ReadonlyArray<unknown> = [null, "", -1]
const PATH_VALUES = [UNKNOWN_ID, "x", "%"]
const QUERY_VALUES = ["", "1", "x"]
const WRONG_BODIES = ["", "{", "[]", `{"a":"${"x".repeat(70_000)}"}`]

export const requestsTo = (plan: RequestPlan): ReadonlyArray<GeneratedRequest> => {
  const { path, method, operation } = plan
  const upper = method.toUpperCase()
  const target = filled(path, plan.known)
  const body = exampleOf(operation)
  const text = body === undefined ? undefined : JSON.stringify(body)
  const json: Readonly<Record<string, string>> = text === undefined ? {} : { "content-type": "application/json" }
  const own = credentialsOf(plan)
  const ask = (change: Partial<GeneratedRequest>): GeneratedRequest => ({
    method: upper,
    target,
    headers: { ...json, ...own },
    body: text,
    ...change
  })
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name)
  const query = (operation.parameters ?? []).filter((parameter) => parameter.in === "query").map(({ name }) => name)
  return [
    ask({}),
    ...METHODS.map((other) => ask({ method: other, body: ["GET", "HEAD"].includes(other) ? undefined : text })),
    ...wrongCredentials(plan).map((headers) => ask({ headers: { ...json, ...headers } })),
    ...names.flatMap((name) =>
      PATH_VALUES.map((value) => ask({ target: filled(path, { ...plan.known, [name]: value }) }))
    ),
    ...query.flatMap((name) => [
      ...QUERY_VALUES.map((value) => ask({ target: `${target}?${name}=${value}` })),
      ask({ target: `${target}?${name}=1&${name}=2` })
    ]),
    ask({ target: `${target}?unknown=1` }),
    ask({ target: `${target}/` }),
    ...(body === undefined ? [] : wrongBodiesOf(body).map((wrong) => ask({ body: wrong })))
  ]
}

const filled = (path: string, values: Readonly<Record<string, string>>): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? UNKNOWN_ID)

const isReseller = ({ operation }: RequestPlan): boolean =>
  operation.security.some((scheme) => "resellerToken" in scheme)

const credentialsOf = (plan: RequestPlan): Readonly<Record<string, string>> =>
  plan.operation.security.length === 0 ? {} : { authorization: `Bearer ${isReseller(plan) ? plan.token : plan.apiKey}` }

const wrongCredentials = (plan: RequestPlan): ReadonlyArray<Readonly<Record<string, string>>> => [
  {},
  { authorization: "Bearer wrong" },
  { authorization: `Bearer ${isReseller(plan) ? plan.apiKey : plan.token}` },
  { authorization: `Bearer ${plan.apiKey}`, "x-api-key": "another" }
]

const exampleOf = ({ requestBody }: Operation): Json | undefined => {
  const media: MediaType | undefined = requestBody?.content["application/json"]
  if (media === undefined) return undefined
  const { examples = [] } = resolved(media.schema) as { readonly examples?: ReadonlyArray<Json> }
  const example = examples[0] ?? {}
  return "model" in example ? { ...example, model: "m" } : example
}

const wrongBodiesOf = (body: Json): ReadonlyArray<string> => [
  ...WRONG_BODIES,
  JSON.stringify({ ...body, unknown: [{}] }),
  ...Object.keys(body).flatMap((name) => [
    JSON.stringify({ ...body, [name]: undefined }),
    ...WRONG_VALUES.map((value) => JSON.stringify({ ...body, [name]: value }))
  ])
]
