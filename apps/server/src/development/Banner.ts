/**
 * Formats the text that `npm start` prints: the URLs, the demo credentials, and commands to paste into a shell.
 */
import * as Redacted from "effect/Redacted"
import type { DemoCustomer } from "./DemoCustomer.ts"
import type { DemoReseller } from "./DemoReseller.ts"

export interface Demo {
  readonly customer: DemoCustomer
  /** Undefined if the payment providers are real. */
  readonly reseller: DemoReseller | undefined
  /** The file whose catalog replaces the demo catalog; undefined if the demo catalog is used. */
  readonly catalogFile: string | undefined
  /** The URL of the payment simulator; undefined if payments are not simulated. */
  readonly paymentSimulatorUrl: string | undefined
}

export const banner = (baseUrl: string, { customer, reseller, catalogFile, paymentSimulatorUrl }: Demo): string => {
  const facts = [
    catalogFile === undefined ? "the model provider is simulated" : `the catalog is ${catalogFile}`,
    ...(paymentSimulatorUrl === undefined ? [] : ["no top-up uses real money"])
  ]
  const key = Redacted.value(customer.key)
  const call = (body: string, flags = "", path = "/v1/chat/completions") =>
    [
      `  curl ${flags}${baseUrl}${path} \\`,
      `    -H "Authorization: Bearer ${key}" -H "Content-Type: application/json" \\`,
      `    -d '${body}'`
    ].join("\n")
  return `
Tollgate is serving on ${baseUrl}   (demo: ${facts.join(", ")})
${catalogFile === undefined ? "" : "The commands below name models of the demo catalog. Replace these names with models of your catalog.\n"}
  docs       ${baseUrl}/docs
  console    ${baseUrl}/console   (for resellers and customers)
  customer   ${customer.email}
  key        ${key}
  reseller   ${reseller === undefined ? "none, because the payment providers are real" : `${reseller.email}, password ${reseller.password}`}
${paymentSimulatorUrl === undefined ? "" : `  payments   ${paymentSimulatorUrl}   (simulated: one click pays an order)\n`}
Stream a response:

${call('{"model":"demo-chat","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"What is a tollgate?"}]}', "-N ")}

A response without streaming, and the list of models:

${call('{"model":"demo-chat","messages":[{"role":"user","content":"Hello!"}]}')}

  curl ${baseUrl}/v1/models -H "Authorization: Bearer ${key}"

Generate an image, returned in base64:

${call('{"model":"demo-image","prompt":"A tollgate in the morning","size":"1024x1536"}', "", "/v1/images/generations")}

${reseller === undefined ? "" : resellerCommands(baseUrl, reseller, paymentSimulatorUrl)}Show the balance, and audit the ledger:

  npm run -s tollgate -- users show ${customer.email}
  npm run -s tollgate -- audit

Ctrl-C stops the server. The data is kept.
`
}

const resellerCommands = (
  baseUrl: string,
  { email, password }: DemoReseller,
  paymentSimulatorUrl: string | undefined
): string => `Log in as the reseller:

  curl ${baseUrl}/api/reseller/auth/login -H "Content-Type: application/json" \\
    -d '{"email":"${email}","password":"${password}"}'

The whole reseller flow, from sign-up to usage, as curl commands:

  TOLLGATE_URL=${baseUrl}${paymentSimulatorUrl === undefined ? "" : ` PAYMENTS_URL=${paymentSimulatorUrl}`} bash docs/story.sh

`
