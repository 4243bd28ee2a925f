/**
 * Creates a top-up order by one of the four methods.
 */
import { useStore } from "@nanostores/preact"
import { useState } from "preact/hooks"
import { api, bodyOf } from "../../api/Client.ts"
import { useAction } from "../../api/Loaded.ts"
import type { Problem } from "../../api/Problem.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { $router, go, pathOf, topUpPath } from "../../routes/Routes.ts"
import { Field, Form, Submit } from "../../ui/Forms.tsx"
import { Notice, ProblemNotice } from "../../ui/Notices.tsx"
import { Page } from "../../ui/Page.tsx"

const methods = ["qris", "hosted_qris", "crypto", "crypto_bep20"] as const
type Method = (typeof methods)[number]

const isRupiah = (method: Method): boolean => method === "qris" || method === "hosted_qris"

/** Returns the whole rupiah that a user typed with or without separators, or undefined. */
const rupiahOf = (typed: string): number | undefined => {
  const digits = typed.replace(/^Rp/i, "").replace(/[.,\s]/g, "")
  return /^\d{1,12}$/.test(digits) ? Number.parseInt(digits, 10) : undefined
}

/** Returns the micro-USD of a decimal number of dollars with a point or a comma, or undefined. */
const usdMicroOf = (typed: string): number | undefined => {
  const [, whole, fraction = ""] = /^\$?\s*(\d{1,8})(?:[.,](\d{1,6}))?$/.exec(typed) ?? []
  return whole === undefined ? undefined : Number.parseInt(`${whole}${fraction.padEnd(6, "0")}`, 10)
}

const FEE_PERCENT = 5
const USD_MICRO_PER_IDR = 100

/** The amounts of an order before it exists. The gateway computes the binding ones. */
const Preview = ({ method, typed }: { readonly method: Method; readonly typed: string }) => {
  const { topUps } = useTexts()
  const format = useFormat()
  const idr = isRupiah(method) ? rupiahOf(typed) : undefined
  const usdMicro = isRupiah(method) ? undefined : usdMicroOf(typed)
  if (idr === undefined && usdMicro === undefined) return null
  const fee = method === "qris" && idr !== undefined ? Math.ceil((idr * FEE_PERCENT) / 100) : 0
  return (
    <dl class="summary">
      {idr !== undefined && fee > 0 && (
        <>
          <dt>{topUps.fee}</dt>
          <dd class="money">{format.idr(fee)}</dd>
        </>
      )}
      {idr !== undefined && (
        <>
          <dt>{topUps.toPay}</dt>
          <dd class="money">{format.idr(idr + fee)}</dd>
        </>
      )}
      <dt>{topUps.quota}</dt>
      <dd class="money strong">{format.usd(usdMicro ?? (idr ?? 0) * USD_MICRO_PER_IDR)}</dd>
    </dl>
  )
}

/**
 * Returns the reason why the amount is refused. The error detail of the gateway contains the bounds: `10000 to
 * 9500000`.
 */
const useAmountIssue = (problem: Problem | undefined): string | undefined => {
  const { topUps } = useTexts()
  const format = useFormat()
  const rupiah = problem?.issueOf("amount_idr")
  const issue = rupiah ?? problem?.issueOf("amount_usd_micro")
  if (issue === undefined) return undefined
  const [, min, max] = /^(\d+) to (\d+)$/.exec(issue) ?? []
  if (min === undefined || max === undefined) return topUps.amountIssue
  const shown = (amount: string) =>
    rupiah === undefined ? format.usd(amount) : format.idr(Number.parseInt(amount, 10))
  return topUps.amountRange(shown(min), shown(max))
}

export const NewTopUp = () => {
  const { topUps: texts, shell } = useTexts()
  const search = useStore($router)?.search ?? {}
  const [method, setMethod] = useState<Method>("qris")
  const [typed, setTyped] = useState(search.amount ?? "")
  const [malformed, setMalformed] = useState(false)
  const create = useAction(async ({ token }: Readonly<Record<string, string>>) => {
    const amount = isRupiah(method) ? rupiahOf(typed) : usdMicroOf(typed.trim())
    setMalformed(amount === undefined)
    if (amount === undefined) return
    const order = await bodyOf(
      api.POST("/api/reseller/topup", {
        body: {
          method,
          ...(isRupiah(method) ? { amount_idr: amount } : { amount_usd_micro: amount }),
          ...(method === "crypto_bep20" ? { token_kind: token === "usdc" ? ("usdc" as const) : ("usdt" as const) } : {})
        }
      })
    )
    go(topUpPath(order.id))
  })
  const refusedAmount = useAmountIssue(create.problem)
  const issue = malformed ? texts.amountIssue : refusedAmount
  return (
    <Page title={texts.create} back={{ path: pathOf("topUps"), text: shell.pages.topUps }} narrow>
      <Form onSubmit={create.run} class="form card">
        <fieldset class="methods">
          <legend>{texts.method}</legend>
          {methods.map((each) => (
            <label key={each} class="method">
              <input
                type="radio"
                name="method"
                value={each}
                checked={each === method}
                onChange={() => {
                  if (isRupiah(each) !== isRupiah(method)) setTyped("")
                  create.forget()
                  setMethod(each)
                }}
              />
              <span>
                <strong>{texts.methods[each]}</strong>
                <small>{texts.methodTexts[each]}</small>
              </span>
            </label>
          ))}
        </fieldset>
        {method === "crypto_bep20" && (
          <fieldset class="methods inline">
            <legend>{texts.token}</legend>
            {(["usdt", "usdc"] as const).map((token) => (
              <label key={token} class="method">
                <input type="radio" name="token" value={token} defaultChecked={token === "usdt"} />
                <strong>{token.toUpperCase()}</strong>
              </label>
            ))}
          </fieldset>
        )}
        <Field
          label={isRupiah(method) ? texts.amountIdr : texts.amountUsd}
          name="amount"
          inputMode={isRupiah(method) ? "numeric" : "decimal"}
          autocomplete="off"
          required
          value={typed}
          onInput={setTyped}
          error={issue}
        />
        <Preview method={method} typed={typed.trim()} />
        {create.problem?.isUnknown === true && (
          <Notice kind="warn" title={texts.unknown}>
            <p>{texts.unknownText}</p>
            <a class="button" href={pathOf("topUps")}>
              {texts.orders}
            </a>
          </Notice>
        )}
        {create.problem?.isUnknown === false && refusedAmount === undefined && (
          <ProblemNotice problem={create.problem} />
        )}
        <Submit running={create.running}>{texts.submit}</Submit>
      </Form>
    </Page>
  )
}
