/**
 * Renders the operations of the documentation page: description, parameters, body, an example for the command line, and
 * responses.
 */
import {
  bodyExample,
  type Document,
  type MediaType,
  type Operation,
  type Parameter,
  type Response,
  type Route
} from "./Document.ts"
import { html, inline, type Markup, prose, slugOf } from "./Markup.ts"
import { memberTable, parameterTable } from "./Members.ts"

/** The base URL in examples. The script of the page replaces it with the origin of the page. */
export const BASE_URL = "http://127.0.0.1:8080"
const JSON_TYPE = "application/json"
const FORM_TYPE = "multipart/form-data"

/** The environment variables that contain the credentials in the examples, by security scheme. */
const CREDENTIALS: Readonly<Record<string, { readonly variable: string; readonly label: string }>> = {
  apiKey: { variable: "API_KEY", label: "an API key" },
  resellerToken: { variable: "RESELLER_TOKEN", label: "a reseller token" },
  operatorToken: { variable: "OPERATOR_TOKEN", label: "an operator token" }
}

export const idOf = ({ operationId }: Operation): string => slugOf(operationId.replace(/([A-Z])/g, "-$1"))

export const code = (text: string, language: string): Markup =>
  html`<div class="code" data-language="${language}"><pre tabindex="0"><code>${text}</code></pre></div>`

export const operationSection = (document: Document, route: Route): Markup => {
  const { method, path, operation } = route
  const { summary, description, parameters = [], requestBody } = operation
  const body = requestBody?.content[JSON_TYPE] ?? requestBody?.content[FORM_TYPE]
  const inPath = parameters.filter((parameter) => parameter.in === "path")
  const inQuery = parameters.filter((parameter) => parameter.in === "query")
  const inHeader = parameters.filter((parameter) => parameter.in === "header")
  const tables = [
    parameterTable(document, "Path parameters", inPath),
    parameterTable(document, "Query parameters", inQuery),
    parameterTable(document, "Headers", inHeader),
    body === undefined
      ? undefined
      : memberTable(document, requestBody?.content[JSON_TYPE] === undefined ? "Form fields" : "Body", body.schema)
  ].filter((part) => part !== undefined)
  return html`<article class="operation" id="${idOf(operation)}" aria-labelledby="${idOf(operation)}-title">
<div class="about">
<h3 id="${idOf(operation)}-title"><a href="#${idOf(operation)}">${summary}</a></h3>
<p class="route"><span class="method method-${method.toLowerCase()}">${method}</span> <code>${path}</code></p>
<p class="needs">${needsOf(operation)}</p>
${description === undefined ? undefined : prose(description)}
${tables}
${responsesOf(document, operation)}
</div>
<div class="sample">
${code(commandOf(document, route, body), "Shell")}
${exampleResponse(document, operation)}
<div class="try" data-method="${method}" data-path="${path}" data-scheme="${schemeOf(operation) ?? ""}" data-type="${body === undefined ? "" : (Object.keys(requestBody?.content ?? {})[0] ?? "")}" data-query="${inQuery.map(({ name }) => name).join(" ")}" data-body="${body === undefined || requestBody?.content[JSON_TYPE] === undefined ? "" : JSON.stringify(bodyExample(document, body), null, 2)}"></div>
</div>
</article>
`
}

const schemeOf = ({ security }: Operation): string | undefined => Object.keys(security[0] ?? {})[0]

const needsOf = (operation: Operation): string => {
  const scheme = schemeOf(operation)
  return scheme === undefined ? "Needs no credentials." : `Needs ${CREDENTIALS[scheme]?.label ?? scheme}.`
}

/** Returns a curl command that sends an example of the request. */
const commandOf = (document: Document, { method, path, operation }: Route, body: MediaType | undefined): string => {
  const scheme = schemeOf(operation)
  const variable = scheme === undefined ? undefined : CREDENTIALS[scheme]?.variable
  const isForm = operation.requestBody?.content[FORM_TYPE] !== undefined
  const example = body === undefined ? undefined : (bodyExample(document, body) as Readonly<Record<string, unknown>>)
  const parts = [
    `curl ${method === "GET" || body !== undefined ? "" : `-X ${method} `}${BASE_URL}${filledPath(path, operation.parameters ?? [])}`,
    ...(variable === undefined ? [] : [`  -H "authorization: Bearer $${variable}"`]),
    ...(example === undefined ? [] : isForm ? formOf(example) : jsonOf(example))
  ]
  return parts.join(" \\\n")
}

const jsonOf = (example: object): ReadonlyArray<string> => [
  '  -H "content-type: application/json"',
  `  -d '${JSON.stringify(example, null, 2).replaceAll("'", "'\\''")}'`
]

const formOf = (example: Readonly<Record<string, unknown>>): ReadonlyArray<string> =>
  Object.entries(example).map(
    ([name, value]) => `  -F ${name}=${name === "image" ? "@image.png" : JSON.stringify(String(value))}`
  )

const filledPath = (path: string, parameters: ReadonlyArray<Parameter>): string =>
  path.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const example = parameters.find((parameter) => parameter.name === name)?.schema.examples?.[0]
    return typeof example === "string" ? example : whole
  })

const exampleResponse = (document: Document, { responses }: Operation): Markup | undefined => {
  const [status, response] = Object.entries(responses)[0] ?? []
  const examples = Object.entries(response?.content ?? {}).flatMap(([type, media]) => {
    const example = type === JSON_TYPE || media.example !== undefined ? bodyExample(document, media) : undefined
    if (example === undefined) return []
    const text = typeof example === "string" ? example.trim() : JSON.stringify(example, null, 2)
    return [
      html`<p class="sample-title">${status} <span>${type}</span></p>${code(text, type === JSON_TYPE ? "JSON" : "Stream")}`
    ]
  })
  return examples.length === 0 ? undefined : html`${examples}`
}

const responsesOf = (document: Document, { responses }: Operation): Markup => {
  const entries = Object.entries(responses)
  const successes = entries.filter(([status]) => Number(status) < 400)
  const failures = entries.filter(([status]) => Number(status) >= 400)
  const rows = failures.flatMap(([status, response]) =>
    errorsIn(response).map(
      ([name, meaning]) => html`<tr><th scope="row">${status} <code>${name}</code></th><td>${inline(meaning)}</td></tr>`
    )
  )
  return html`${successes.map(([status, response]) => successOf(document, status, response))}
<details class="errors"><summary>Errors (${rows.length})</summary><table><caption class="unseen">Errors</caption><thead class="unseen"><tr><th scope="col">Status and code</th><th scope="col">Meaning</th></tr></thead><tbody>${rows}</tbody></table></details>`
}

const errorsIn = ({ content = {}, description }: Response): ReadonlyArray<readonly [code: string, meaning: string]> => {
  const examples = Object.entries(content[JSON_TYPE]?.examples ?? {})
  return examples.length === 0
    ? [["", description]]
    : examples.map(([name, { summary }]) => [name.replace(/_\d+$/, ""), summary])
}

const successOf = (
  document: Document,
  status: string,
  { description, headers = {}, content = {} }: Response
): Markup => {
  const own = Object.entries(headers).filter(([, { $ref }]) => $ref === undefined)
  const tables = Object.entries(content).map(([type, { schema }]) =>
    type === JSON_TYPE
      ? memberTable(document, `Response ${status}`, schema)
      : html`<p><code>${type}</code>: ${inline(schema.description ?? "")}</p>`
  )
  const listed = own.map(([name, header]) => html`<li><code>${name}</code>: ${inline(header.description ?? "")}</li>`)
  return html`<details><summary>Response ${status}</summary>${content[JSON_TYPE] === undefined ? prose(description) : undefined}${tables.filter((part) => part !== undefined)}${listed.length === 0 ? undefined : html`<ul>${listed}</ul>`}</details>`
}
