/**
 * Renders the parts that all pages of the simulator share, and the checkout page of one payment.
 *
 * A page is a single HTML document without scripts and without resources from other hosts. It has light or dark
 * colours, as the browser prefers. A banner at the top marks the page as a simulation.
 */
import { type Action, decimalText, possibleActions, type SimulatedPayment } from "./SimulatedPayment.ts"

export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

export const page = (title: string, body: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<p class="banner" role="note"><strong>Payment simulator, not real.</strong> No real money is transferred: every code, address
and payment on this page is made up.</p>
<main>
${body}
</main>
</body>
</html>
`

/**
 * Renders the button of an action. The form contains the provider's reference, so that the action changes only this
 * payment and not the other coins of the order.
 */
export const actionForm = (payment: SimulatedPayment, action: Action): string => {
  const label = `${LABEL[action]} ${payment.orderNumber ?? payment.reference}, ${payment.currency.toUpperCase()}`
  const kind = action === "pay" ? ' class="main"' : ""
  return `<form method="post" action="/${action}/${encodeURIComponent(payment.reference)}"><button${kind} aria-label="${escapeHtml(label)}">${LABEL[action]}</button></form>`
}

const LABEL: { readonly [A in Action]: string } = {
  pay: "Pay",
  underpay: "Underpay",
  overpay: "Overpay",
  expire: "Expire",
  fail: "Fail"
}

/** Renders the page of one payment, like the checkout page of a provider. */
export const checkoutPage = (payment: SimulatedPayment, pictureUrl: string): string => {
  const amount = `${decimalText(payment.due ?? 0n, payment.decimals)} ${payment.currency.toUpperCase()}`
  const buttons = possibleActions(payment).filter((action) => action === "pay" || action === "fail")
  return page(
    `Pay ${amount} (simulated)`,
    `<h1>Pay ${escapeHtml(amount)}</h1>
<div class="box">
<p>Order <code>${escapeHtml(payment.orderNumber ?? "")}</code> is ${payment.state}.</p>
${payment.state === "open" ? `<img src="${escapeHtml(pictureUrl)}" alt="QR code of this simulated payment" width="256" height="256">` : ""}
${buttons.map((action) => actionForm(payment, action)).join("")}
</div>
${backLink(payment.requestBody.return_url)}<p><a href="/">All payments of the simulator</a></p>`
  )
}

const backLink = (url: unknown): string =>
  typeof url === "string" && /^https?:\/\//.test(url)
    ? `<p><a href="${escapeHtml(url)}">Back to the merchant</a></p>`
    : ""

const STYLE = `
:root { color-scheme: light dark; --text: #1b1f24; --soft: #57606a; --page: #f6f8fa; --card: #fff; --line: #d0d7de;
  --accent: #0a58ca; --on-accent: #fff; --banner: #ffe08a; --on-banner: #3d2c00 }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --soft: #9da7b3; --page: #0d1117; --card: #161b22;
  --line: #3d444d; --accent: #6cb0ff; --on-accent: #06101f; --banner: #5c4400; --on-banner: #ffe9b0 } }
* { box-sizing: border-box }
body { margin: 0; background: var(--page); color: var(--text); font: 1rem/1.5 system-ui, sans-serif }
main { max-width: 56rem; margin: 0 auto; padding: 0 1rem 3rem }
.banner { margin: 0; padding: .75rem 1rem; background: var(--banner); color: var(--on-banner); text-align: center }
h1 { font-size: 1.5rem; margin: 1.5rem 0 .5rem } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem }
h3 { font-size: 1rem; margin: 0; overflow-wrap: anywhere }
article, .box { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: 1rem;
  margin: 0 0 .75rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: .5rem 0 }
dt { color: var(--soft) } dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums }
form { display: inline-block; margin: .25rem .5rem 0 0 }
button, select { font: inherit; min-height: 2.5rem; padding: .25rem 1rem; border-radius: .4rem;
  border: 1px solid var(--accent); background: var(--card); color: var(--accent); cursor: pointer }
button.main { background: var(--accent); color: var(--on-accent) }
a { color: var(--accent) }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere }
img { display: block; width: 16rem; max-width: 100%; background: #fff; border-radius: .4rem }
.soft { color: var(--soft) }
`
