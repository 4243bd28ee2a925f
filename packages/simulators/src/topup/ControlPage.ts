/**
 * Renders the control page of the simulator: the newest payments, with buttons for the possible actions on each
 * payment, and the fault settings.
 */
import { decimalText, possibleActions, type SimulatedPayment } from "./payment/SimulatedPayment.ts"
import { actionForm, escapeHtml, page } from "./payment/SimulatorPage.ts"
import { FAULT_MODES, type FaultMode } from "./WireFault.ts"

export interface ControlPage {
  /** The origin of the simulator. */
  readonly origin: string
  readonly payments: ReadonlyArray<SimulatedPayment>
  readonly providers: ReadonlyArray<string>
  readonly fault: { readonly mode: FaultMode; readonly provider: string }
  /** Descriptions of the last actions and changes of the fault, newest first. */
  readonly done: ReadonlyArray<string>
}

const MAX_SHOWN = 100

export const controlPage = ({ done, fault, origin, payments, providers }: ControlPage): string => {
  const open = payments.filter(({ state }) => state === "open")
  const closed = payments.filter(({ state }) => state !== "open")
  return page(
    "Payment simulator",
    `<h1>Payment simulator</h1>
<p>This page lists the payments that development servers open at ${escapeHtml(providers.join(", "))}.
<a href="/">Reload</a></p>
<section aria-live="polite" aria-label="Last actions">${done.length === 0 ? "" : doneList(done)}</section>
<h2>Open payments (${open.length})</h2>
${open.length === 0 ? '<p class="soft">There are none. Create a top-up and reload this page.</p>' : cards(open)}
<h2>Closed payments (${closed.length})</h2>
${closed.length === 0 ? '<p class="soft">There are none.</p>' : cards(closed)}
<h2>Faults</h2>
${faultForm(fault, providers)}
<h2>Commands</h2>
<p><code>curl -X POST ${escapeHtml(origin)}/pay/RTO-…</code> pays an order. For another action, replace
<code>pay</code> with <code>underpay</code>, <code>overpay</code>, <code>expire</code> or <code>fail</code>.
<code>POST /again/RTO-… {"amount":"5"}</code> sends another payment for an order that has a payment, if its provider supports this.
<code>POST /fault {"mode":"503"}</code> sets a fault. <code>GET /payments</code> lists the payments.
A deposit address or the provider's reference can be used instead of the order number.</p>`
  )
}

const doneList = (done: ReadonlyArray<string>): string =>
  `<ul class="box">${done.map((line) => `<li>${escapeHtml(line)}</li>`).join("")}</ul>`

const cards = (payments: ReadonlyArray<SimulatedPayment>): string => {
  const left = payments.length - MAX_SHOWN
  const more = left > 0 ? `<p class="soft">${left} older payments are not shown.</p>` : ""
  return payments.slice(0, MAX_SHOWN).map(card).join("\n") + more
}

const card = (payment: SimulatedPayment): string => {
  const name = payment.orderNumber ?? "Payment without an order number"
  const amount = (raw: bigint) => `${decimalText(raw, payment.decimals)} ${payment.currency.toUpperCase()}`
  const partly = payment.state === "open" && payment.received > 0n ? "open, partially paid" : payment.state
  const rows = [
    ["Provider", `${payment.provider}, ${payment.method}`],
    ["Status", partly],
    ["Due", payment.due === undefined ? "unknown" : amount(payment.due)],
    ["Received", amount(payment.received)],
    payment.payTo === undefined ? ["Reference", payment.reference] : ["Address", payment.payTo],
    ...(payment.expiresAt === undefined ? [] : [["Expires", new Date(payment.expiresAt).toISOString()]])
  ]
  const shown = payment.shownAt === undefined ? "" : `<p><a href="${escapeHtml(payment.shownAt)}">Payment page</a></p>`
  return `<article aria-label="${escapeHtml(name)}">
<h3>${escapeHtml(name)}</h3>
<dl>${rows.map(([term = "", value = ""]) => `<dt>${term}</dt><dd>${escapeHtml(value)}</dd>`).join("")}</dl>
${shown}${possibleActions(payment)
  .map((action) => actionForm(payment, action))
  .join("")}
</article>`
}

const faultForm = (fault: ControlPage["fault"], providers: ReadonlyArray<string>): string => {
  const options = (all: ReadonlyArray<string>, chosen: string) =>
    all.map((each) => `<option${each === chosen ? " selected" : ""}>${escapeHtml(each)}</option>`).join("")
  return `<form method="post" action="/fault" class="box">
<label>Fault <select name="mode">${options(FAULT_MODES, fault.mode)}</select></label>
<label>Provider <select name="provider">${options(["all", ...providers], fault.provider)}</select></label>
<button>Set</button></form>`
}
