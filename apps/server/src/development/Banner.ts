/**
 * What a newcomer reads after `npm start`: what runs, and lines to paste.
 */
import * as Redacted from "effect/Redacted"
import type { DemoCustomer } from "./DemoCustomer.ts"
import type { DemoReseller } from "./DemoReseller.ts"

export interface Demo {
  readonly customer: DemoCustomer
  readonly reseller: DemoReseller
  /** Where payments are simulated, if they are. */
  readonly simulatorAddress: string | undefined
}

export const banner = (baseUrl: string, { customer, reseller, simulatorAddress }: Demo): string => {
  const key = Redacted.value(customer.key)
  const call = (body: string, flags = "", path = "/v1/chat/completions") =>
    [
      `  curl ${flags}${baseUrl}${path} \\`,
      `    -H "Authorization: Bearer ${key}" -H "Content-Type: application/json" \\`,
      `    -d '${body}'`
    ].join("\n")
  return `
Tollgate is serving on ${baseUrl}   (demo: its supplier is simulated and its money is play money)

  docs       ${baseUrl}/docs
  customer   ${customer.email}
  key        ${key}
  reseller   ${reseller.email}, password ${reseller.password}
${simulatorAddress === undefined ? "" : `  payments   ${simulatorAddress}   (simulated: you pay with a click)\n`}
Stream an answer:

${call('{"model":"demo-chat","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"What is a tollgate?"}]}', "-N ")}

A whole answer, and the models there are:

${call('{"model":"demo-chat","messages":[{"role":"user","content":"Hello!"}]}')}

  curl ${baseUrl}/v1/models -H "Authorization: Bearer ${key}"

An image, inline in base64:

${call('{"model":"demo-image","prompt":"A tollgate in the morning","size":"1024x1536"}', "", "/v1/images/generations")}

Log in as the reseller:

  curl ${baseUrl}/api/reseller/auth/login -H "Content-Type: application/json" \\
    -d '{"email":"${reseller.email}","password":"${reseller.password}"}'

Its whole story, from signing up to reading usage, told by curl:

  bash docs/story.sh

What it cost, and whether the books agree:

  npm run -s tollgate -- users show ${customer.email}
  npm run -s tollgate -- audit

Ctrl-C stops it; your data stays.
`
}
