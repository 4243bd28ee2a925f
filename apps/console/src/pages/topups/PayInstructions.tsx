/**
 * How to pay an order: a QR code and an amount in rupiah, or an amount of tokens and an address to copy.
 */
import { useState } from "preact/hooks"
import type { Order } from "../../api/Reseller.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { Copy } from "../../ui/Copy.tsx"
import { Select } from "../../ui/Forms.tsx"
import { Notice } from "../../ui/Notices.tsx"
import { Qr } from "../../ui/Qr.tsx"
import { tokensOf } from "./OrderStatus.tsx"

const Qris = ({ order }: { readonly order: Order }) => {
  const { topUps } = useTexts()
  const format = useFormat()
  return (
    <>
      {order.qr_content !== undefined && <Qr text={order.qr_content} label={topUps.qrisCode} />}
      <p class="pay-figure">
        <span>{topUps.toPay}</span>
        <strong>{format.idr(order.total_idr ?? 0)}</strong>
      </p>
      <p class="small">{topUps.qrisText}</p>
      {order.payment_url !== undefined && (
        <p>
          <a class="button" href={order.payment_url} target="_blank" rel="noreferrer">
            {topUps.paymentPage}
          </a>
        </p>
      )}
    </>
  )
}

interface TransferProps {
  readonly amount: string
  readonly token: string
  readonly network: string
  readonly address: string
  readonly memo?: string | undefined
  readonly contract?: string | undefined
}

const Transfer = ({ amount, token, network, address, memo, contract }: TransferProps) => {
  const { topUps } = useTexts()
  return (
    <>
      <Qr text={address} label={topUps.addressCode} />
      <dl class="transfer">
        <dt>{topUps.exactAmount(token.toUpperCase())}</dt>
        <dd>
          <Copy text={amount} label={topUps.amount} />
        </dd>
        <dt>{topUps.addressOn(network)}</dt>
        <dd>
          <Copy text={address} label={topUps.address} />
        </dd>
        {memo !== undefined && (
          <>
            <dt>{topUps.memo}</dt>
            <dd>
              <Copy text={memo} label={topUps.memo} />
            </dd>
          </>
        )}
        {contract !== undefined && (
          <>
            <dt>{topUps.contract}</dt>
            <dd>
              <Copy text={contract} label={topUps.contract} />
            </dd>
          </>
        )}
      </dl>
      <Notice kind="warn">{topUps.onlyThis(token.toUpperCase(), network)}</Notice>
    </>
  )
}

const Crypto = ({ order }: { readonly order: Order }) => {
  const { topUps } = useTexts()
  const [chosen, setChosen] = useState("0")
  const addresses = order.deposit_addresses ?? []
  const address = addresses[Number.parseInt(chosen, 10)] ?? addresses[0]
  if (address === undefined) return null
  return (
    <>
      <Select
        label={topUps.network}
        value={chosen}
        onSelect={setChosen}
        options={addresses.map(({ network, token_kind }, i) => [
          String(i),
          `${token_kind.toUpperCase()} · ${network.toUpperCase()}`
        ])}
      />
      <Transfer
        amount={address.amount}
        token={address.token_kind}
        network={address.network.toUpperCase()}
        address={address.deposit_address}
        memo={address.memo}
      />
    </>
  )
}

export const PayInstructions = ({ order }: { readonly order: Order }) => {
  if (order.payment_method === "crypto") return <Crypto order={order} />
  if (order.payment_method !== "crypto_bep20") return <Qris order={order} />
  const missing = BigInt(order.expected_raw ?? "0") - BigInt(order.received_raw ?? "0")
  return (
    <Transfer
      amount={tokensOf(missing.toString())}
      token={order.token_kind ?? ""}
      network="BNB Smart Chain (BEP20)"
      address={order.deposit_address ?? ""}
      contract={order.contract_address}
    />
  )
}
