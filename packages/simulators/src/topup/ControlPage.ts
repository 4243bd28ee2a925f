/**
 * The page where somebody plays payer and provider: all payments, with a button for all that can happen to each.
 */
import { decimalText } from "./DecimalAmount.ts"
import { type Action, possibleActions, type SimulatedPayment } from "./SimulatedPayment.ts"
import { escapeHtml, page } from "./SimulatorHtml.ts"
import { FAULT_MODES, type FaultMode } from "./WireFault.ts"

export interface ControlPage {
  /** Of the simulator. */
  readonly origin: string
  readonly payments: ReadonlyArray<SimulatedPayment>
  readonly providers: ReadonlyArray<string>
  readonly fault: { readonly mode: FaultMode; readonly provider: string }
  /** What was done of late, newest first. */
  readonly done: ReadonlyArray<string>
}

const SHOWN_AT_MOST = 100

export const controlPage = ({ done, fault, origin, payments, providers }: ControlPage): string => {
  const open = payments.filter(({ state }) => state === "open")
  const closed = payments.filter(({ state }) => state !== "open")
  return page(
    "Payment simulator",
    `<h1>Payment simulator</h1>
<p>Whoever opens a payment at Midtrans, Tripay, NOWPayments or on BSC in development opens it here.
<a href="/">Look again</a></p>
<section aria-live="polite" aria-label="What was done last">${done.length === 0 ? "" : doneList(done)}</section>
<h2>Open payments (${open.length})</h2>
${open.length === 0 ? '<p class="soft">None. Make a top-up and look again.</p>' : cards(open)}
<h2>Closed payments (${closed.length})</h2>
${closed.length === 0 ? '<p class="soft">None yet.</p>' : cards(closed)}
<h2>Faults</h2>
${faultForm(fault, providers)}
<h2>By hand</h2>
<p><code>curl -X POST ${escapeHtml(origin)}/pay/RTO-…</code>, likewise <code>underpay</code>, <code>overpay</code>,
<code>expire</code>, <code>fail</code>; <code>POST /again/RTO-… {"amount":"5"}</code> for a second payment to
an address of NOWPayments; <code>POST /fault {"mode":"503"}</code>; <code>GET /payments</code>.
A coin's own address, or a provider's reference, does in place of the order number.</p>`
  )
}

const doneList = (done: ReadonlyArray<string>): string =>
  `<ul class="box">${done.map((line) => `<li>${escapeHtml(line)}</li>`).join("")}</ul>`

const cards = (payments: ReadonlyArray<SimulatedPayment>): string => {
  const left = payments.length - SHOWN_AT_MOST
  const more = left > 0 ? `<p class="soft">And ${left} older ones.</p>` : ""
  return payments.slice(0, SHOWN_AT_MOST).map(card).join("\n") + more
}

const card = (payment: SimulatedPayment): string => {
  const name = payment.orderNumber ?? "Address of no known order"
  const amount = (raw: bigint) => `${decimalText(raw, payment.decimals)} ${payment.currency.toUpperCase()}`
  const partly = payment.state === "open" && payment.received > 0n ? "open, paid in part" : payment.state
  const rows = [
    ["Provider", `${payment.provider}, ${payment.method}`],
    ["Status", partly],
    ["Due", payment.due === undefined ? "nobody said" : amount(payment.due)],
    ["Received", amount(payment.received)],
    payment.payTo === undefined ? ["Reference", payment.reference] : ["Address", payment.payTo],
    ...(payment.expiresAt === undefined ? [] : [["Expires", new Date(payment.expiresAt).toISOString()]])
  ]
  const shown =
    payment.shownAt === undefined ? "" : `<p><a href="${escapeHtml(payment.shownAt)}">What the payer sees</a></p>`
  return `<article aria-label="${escapeHtml(name)}">
<h3>${escapeHtml(name)}</h3>
<dl>${rows.map(([term = "", value = ""]) => `<dt>${term}</dt><dd>${escapeHtml(value)}</dd>`).join("")}</dl>
${shown}${possibleActions(payment)
  .map((action) => actionForm(payment, action))
  .join("")}
</article>`
}

/** By the provider's reference, so that the button of one coin pays this coin. */
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

const faultForm = (fault: ControlPage["fault"], providers: ReadonlyArray<string>): string => {
  const options = (all: ReadonlyArray<string>, chosen: string) =>
    all.map((each) => `<option${each === chosen ? " selected" : ""}>${escapeHtml(each)}</option>`).join("")
  return `<form method="post" action="/fault" class="box">
<label>Every answer of a wire becomes <select name="mode">${options(FAULT_MODES, fault.mode)}</select></label>
<label>at <select name="provider">${options(["all", ...providers], fault.provider)}</select></label>
<button>Set</button></form>`
}
