/**
 * Creates Midtrans responses as in the documentation of Midtrans, for the order of the tests.
 */

import { ORDER_NUMBER } from "../Payments.ts"
import { aQrisCode } from "../QrisCode.ts"

export const TRANSACTION_ID = "9aed5972-5b6a-401e-894b-a32c91ed1a3a"

export const aTransaction = (parts: object = {}) => ({
  status_code: "200",
  status_message: "Success, transaction is found",
  transaction_id: TRANSACTION_ID,
  order_id: ORDER_NUMBER,
  merchant_id: "G123456789",
  gross_amount: "105000.00",
  currency: "IDR",
  payment_type: "qris",
  transaction_time: "2026-11-20 11:30:00",
  transaction_status: "pending",
  fraud_status: "accept",
  acquirer: "gopay",
  ...parts
})

const pictureAt = (path: string) => `https://api.midtrans.com${path}/${TRANSACTION_ID}/qr-code`

export const PICTURE = { name: "generate-qr-code", method: "GET", url: pictureAt("/v2/qris") }
export const FRAMED_PICTURE = { name: "generate-qr-code-v2", method: "GET", url: pictureAt("/v4/qris/gopay") }

export const aCharge = (parts: object = {}) =>
  aTransaction({
    status_code: "201",
    status_message: "QRIS transaction is created",
    qr_string: aQrisCode(105_000n),
    expiry_time: "2026-11-20 11:45:00",
    actions: [PICTURE],
    ...parts
  })

/** Creates an error body. Midtrans sends most errors with HTTP status 200. */
export const anError = (code: string, message: string, more: object = {}) => ({
  status_code: code,
  status_message: message,
  id: "2e7d71d2-8f72-4c31-91a5-36731edd0b71",
  ...more
})
