/**
 * The page of one payment, as a payer sees it who was sent to a provider's own checkout.
 */
import { actionForm } from "./ControlPage.ts"
import { decimalText } from "./DecimalAmount.ts"
import { possibleActions, type SimulatedPayment } from "./SimulatedPayment.ts"
import { escapeHtml, page } from "./SimulatorHtml.ts"

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
${backLink(payment.asked.return_url)}<p><a href="/">All payments of the simulator</a></p>`
  )
}

const backLink = (url: unknown): string =>
  typeof url === "string" && /^https?:\/\//.test(url)
    ? `<p><a href="${escapeHtml(url)}">Back to the merchant</a></p>`
    : ""
