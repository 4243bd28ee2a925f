/**
 * English: top-ups.
 */
export const topUpTexts = {
  topUps: {
    intro: "A top-up buys quota. 1 USD of quota costs Rp10,000.",
    create: "New top-up",
    orders: "Your orders",
    none: "No top-ups yet",
    noneText: "Buy quota to sell plans to your customers.",
    one: "Top-up",
    oneOf: (quota: string) => `Top-up of ${quota}`,
    method: "Payment method",
    methods: {
      qris: "QRIS",
      hosted_qris: "QRIS on a payment page",
      crypto: "USDT or USDC",
      crypto_bep20: "USDT or USDC on BNB Smart Chain"
    },
    methodTexts: {
      qris: "Scan with any bank or wallet. 5% fee.",
      hosted_qris: "Scan, or pay on the page of the payment provider. No fee.",
      crypto: "Several networks. 1 USDT or USDC for 1 USD of quota.",
      crypto_bep20: "An address only for this order. 1 USDT or USDC for 1 USD of quota."
    },
    token: "Token",
    amountIdr: "Amount in rupiah",
    amountUsd: "Amount in US dollars",
    amountIssues: {
      rupiah: "Enter rupiah without decimals, such as 50,000 or 50000.",
      dollars: "Enter dollars with at most six decimals, such as 25, 2.5 or 1,250.50."
    },
    amountRefused: "The payment provider does not accept this amount. Enter another amount.",
    amountRange: (min: string, max: string) => `Enter an amount from ${min} to ${max}.`,
    tooManyUnpaid: (minutes: number) =>
      `You have too many unpaid orders. Pay one of them, or try again in ${minutes} min.`,
    fee: "Fee",
    toPay: "To pay",
    quota: "Quota",
    submit: "Create the order",
    unknown: "The result is unknown",
    unknownText:
      "The service did not confirm the order, so it is unknown whether the order was created. Send it again: the same order is never created twice.",
    sendAgain: "Send again",
    states: {
      waiting: "Waiting for payment",
      underpaid: "Underpaid",
      underpaidLate: "Underpaid and overdue",
      overdue: "Overdue",
      crediting: "Paid",
      credited: "Credited",
      late: "Credited late",
      expired: "Expired",
      failed: "Failed"
    },
    anomalies: { late: "Late", underpaid: "Underpaid", overpaid: "Overpaid", remarked: "Has remarks" },
    waiting: "Pay the exact amount. The quota is added as soon as the payment arrives.",
    underpaid: (received: string, missing: string) =>
      `${received} arrived. Send the missing ${missing} to the same address.`,
    underpaidLate: (received: string, missing: string) =>
      `${received} arrived and ${missing} is missing, but the time to pay is over. Do not send more. If you have already sent the missing amount, the quota is still added. Otherwise, ask the operator about the amount that arrived.`,
    overdue: "The time to pay is over. Do not pay this order. A payment that you have already sent is still credited.",
    crediting: "The payment arrived. The quota is being added.",
    credited: (quota: string) => `${quota} of quota was added.`,
    late: (quota: string) => `The payment arrived after the deadline, but ${quota} of quota was added.`,
    expired:
      "No payment arrived in time. Do not pay this order. A payment that you have already sent is still credited.",
    failed: "The payment failed or was refunded. Create a new top-up, or ask the operator.",
    pay: "Pay",
    timeLeft: "Time left",
    payBefore: (time: string) => `until ${time}`,
    details: "Details",
    number: "Order number",
    provider: "Payment provider",
    amount: "Amount",
    created: "Created",
    deadline: "Deadline",
    paidAt: "Paid",
    creditedAt: "Credited",
    qrisCode: "QRIS code to scan",
    qrisText: "Scan the code with the app of your bank or wallet. The amount is in the code.",
    paymentPage: "Open the payment page",
    network: "Token and network",
    addressCode: "QR code of the address",
    exactAmount: (token: string) => `Send exactly (${token})`,
    addressOn: (network: string) => `To the address on ${network}`,
    address: "Address",
    memo: "Memo",
    contract: "Contract of the token",
    onlyThis: (token: string, network: string) =>
      `Send only ${token} on ${network}. Other tokens, and tokens on another network, are lost. Pay the fee of your wallet or exchange in addition to this amount.`
  }
}
