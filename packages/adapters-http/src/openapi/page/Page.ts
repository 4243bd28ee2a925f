/**
 * Renders the documentation page from the OpenAPI document. The page contains its style and its script, and loads
 * nothing from other hosts.
 */
import { type Document, routesOf } from "./Document.ts"
import { html, inline, type Markup, prose, slugOf } from "./Markup.ts"
import { BASE_URL, code, idOf, operationSection } from "./Operations.ts"

export interface PageParts {
  readonly service: string
  readonly style: string
  readonly script: string
}

export const pageOf = (document: Document, { service, style, script }: PageParts): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="API reference of ${service}: chat completions, messages, responses, embeddings, images and the reseller programme.">
<title>API reference · ${service}</title>
<link rel="icon" href="/rankings/icon.svg" type="image/svg+xml">
<style>${{ html: style }}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="bar">
<p class="wordmark"><svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true"><rect class="post" x="3" y="9" width="6" height="20" rx="1.5"/><rect class="arm" x="9" y="12" width="20" height="5" rx="1.5"/><path class="stripe" d="m13 12 3 0-2 5-3 0zM20 12l3 0-2 5-3 0zM27 12l2 0 0 3-1 2-3 0z"/></svg>${service}</p>
<nav aria-label="Related pages"><a href="/rankings">Rankings</a> <a href="/openapi.json">OpenAPI 3.1</a></nav>
</header>
<div class="layout">
${contents(document)}
<main id="main" tabindex="-1">
${introduction(service)}
${groups(document)}
${commonErrors(document)}
</main>
</div>
<script>${{ html: script }}</script>
</body>
</html>
`.html

const contents = (document: Document): Markup =>
  html`<nav class="contents" aria-label="Contents">
<label class="unseen" for="filter">Filter the routes</label>
<input id="filter" type="search" placeholder="Filter" autocomplete="off" hidden>
<ul><li><a href="#start">Get started</a></li><li><a href="#credentials">Credentials</a></li></ul>
${document.tags.map(
  ({ name }) =>
    html`<div class="group"><p>${name}</p><ul>${routesOf(document, name).map(
      ({ method, path, operation }) =>
        html`<li data-words="${`${method} ${path} ${operation.summary}`.toLowerCase()}"><a href="#${idOf(operation)}"><span class="method method-${method.toLowerCase()}">${method}</span> <span>${operation.summary}</span></a></li>`
    )}</ul></div>`
)}
<ul><li><a href="#errors">Errors of every route</a></li></ul>
</nav>`

const CURL = `curl ${BASE_URL}/v1/chat/completions \\
  -H "authorization: Bearer $API_KEY" \\
  -H "content-type: application/json" \\
  -d '{"model": "demo-chat", "messages": [{"role": "user", "content": "Hello"}]}'`

const PYTHON = `import os
from openai import OpenAI

client = OpenAI(base_url="${BASE_URL}/v1", api_key=os.environ["API_KEY"])
completion = client.chat.completions.create(
    model="demo-chat",
    messages=[{"role": "user", "content": "Hello"}],
)
print(completion.choices[0].message.content)`

const JAVASCRIPT = `import { env } from "node:process"
import OpenAI from "openai"

const client = new OpenAI({ baseURL: "${BASE_URL}/v1", apiKey: env.API_KEY })
const stream = await client.chat.completions.create({
  model: "demo-chat",
  messages: [{ role: "user", content: "Hello" }],
  stream: true
})
for await (const { choices } of stream) process.stdout.write(choices[0]?.delta.content ?? "")`

const ANTHROPIC = `import os
from anthropic import Anthropic

client = Anthropic(base_url="${BASE_URL}", api_key=os.environ["API_KEY"])
message = client.messages.create(
    model="demo-chat",
    max_tokens=200,
    messages=[{"role": "user", "content": "Hello"}],
)
print(message.content[0].text)`

const introduction = (service: string): Markup => html`<section id="start" class="hero" aria-labelledby="title">
<h1 id="title">API reference</h1>
<p class="lead">${service} serves the protocols of OpenAI and Anthropic. Keep your client. Change its base URL, its API key and the name of the model.</p>
<dl class="facts"><div><dt>Base URL for OpenAI's clients</dt><dd><code data-url>${BASE_URL}/v1</code></dd></div><div><dt>Base URL for Anthropic's clients</dt><dd><code data-url>${BASE_URL}</code></dd></div></dl>
<p>Put your API key into the environment variable <code>API_KEY</code>. <a href="#list-models">List the models</a> to see which models you can call. The models whose names begin with <code>demo-</code> exist only in the demo.</p>
<div class="tabs" data-tabs>
<section data-tab="curl"><h2>With curl</h2>${code(CURL, "Shell")}</section>
<section data-tab="Python"><h2>With OpenAI's client for Python</h2>${code(PYTHON, "Python")}</section>
<section data-tab="JavaScript"><h2>With OpenAI's client for JavaScript</h2>${code(JAVASCRIPT, "JavaScript")}</section>
<section data-tab="Anthropic"><h2>With Anthropic's client for Python</h2>${code(ANTHROPIC, "Python")}</section>
</div>
</section>
<section id="credentials" class="plain" aria-labelledby="credentials-title">
<h2 id="credentials-title">Credentials</h2>
<p>${inline("An API key belongs to a customer. Send it as `authorization: Bearer <key>` or as `x-api-key: <key>`. A reseller token is returned by the login of a reseller and is valid for 24 hours. Send it as `authorization: Bearer <token>`.")}</p>
<p>${inline("Every response has its request id in the header `x-request-id`. Report this id if a request fails.")}</p>
<div id="keys" hidden></div>
</section>`

const groups = (document: Document): ReadonlyArray<Markup> =>
  document.tags.map(
    ({ name, description }) => html`<section class="group" id="${slugOf(name)}" aria-labelledby="${slugOf(name)}-title">
<h2 id="${slugOf(name)}-title">${name}</h2>
${description === undefined ? undefined : html`<p class="lead">${inline(description)}</p>`}
${routesOf(document, name).map((route) => operationSection(document, route))}
</section>`
  )

const commonErrors = ({ components }: Document): Markup => {
  const responses = Object.values(components.responses)
  const { examples = {} } = responses[0]?.content?.["application/json"] ?? {}
  return html`<section id="errors" class="plain" aria-labelledby="errors-title">
<h2 id="errors-title">Errors of every route</h2>
<p>Every error has a status and a machine-readable code. A request can get these errors on every path:</p>
<ul>${responses.map(({ description }) => html`<li>${inline(description)}</li>`)}</ul>
${Object.values(examples).map(({ summary, value }) => html`<p class="sample-title">${summary}</p>${code(JSON.stringify(value, null, 2), "JSON")}`)}
${prose("The header `x-should-retry: false` tells clients not to repeat a request. The header `retry-after` states the seconds to wait.")}
</section>`
}
