/**
 * Creates a top-up order by one of the four methods.
 */
import { useStore } from "@nanostores/preact"
import { useState } from "preact/hooks"
import { api, bodyOf } from "../../api/Client.ts"
import { useAction } from "../../api/Loaded.ts"
import { mayBeExecuted } from "../../api/OperationResult.ts"
import { Problem } from "../../api/Problem.ts"
import { rupiahOf, typedDollars, usdMicroOf } from "../../format/Amounts.ts"
import { useFormat } from "../../format/Format.ts"
import { type Language, useLanguage, useTexts } from "../../i18n/Language.ts"
import { $router, go, pathOf, topUpPath } from "../../routes/Routes.ts"
import { forgetTopUp, pendingTopUp, prepareTopUp, type TopUpRequest } from "../../state/PendingTopUp.ts"
import { Field, Form, Submit } from "../../ui/Forms.tsx"
import { Notice, ProblemNotice } from "../../ui/Notices.tsx"
import { Page } from "../../ui/Page.tsx"
import { amountIssueOf } from "./AmountIssue.ts"

const methods = ["qris", "hosted_qris", "crypto", "crypto_bep20"] as const
type Method = (typeof methods)[number]

/**
 * The code of a refusal that proves that there is no order, although the payment provider may have opened the payment.
 */
const UNAVAILABLE = "provider_unavailable"

const isRupiah = (method: Method): boolean => method === "qris" || method === "hosted_qris"

/** Returns the amount in rupiah or in micro-USD, as the method needs; undefined if the text is not understood. */
const amountOf = (method: Method, typed: string, language: Language): number | undefined =>
  isRupiah(method) ? rupiahOf(typed, language) : usdMicroOf(typed, language)

const typedAmount = ({ amount_idr, amount_usd_micro }: TopUpRequest, language: Language): string =>
  amount_idr === undefined ? typedDollars(amount_usd_micro ?? 0, language) : String(amount_idr)

const FEE_PERCENT = 5
const USD_MICRO_PER_IDR = 100
const SECONDS_PER_MINUTE = 60

interface PreviewProps {
  readonly method: Method
  readonly amount: number | undefined
}

/** A preview of the amounts of an order. The gateway computes the amounts of the real order. */
const Preview = ({ method, amount }: PreviewProps) => {
  const { topUps } = useTexts()
  const format = useFormat()
  if (amount === undefined) return null
  const idr = isRupiah(method) ? amount : undefined
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
      <dd class="money strong">{format.usd(idr === undefined ? amount : idr * USD_MICRO_PER_IDR)}</dd>
    </dl>
  )
}

/**
 * Shows the problem of the last request. The code `rate_limited` means that the reseller has too many unpaid orders.
 */
const CreateProblem = ({ problem }: { readonly problem: Problem | undefined }) => {
  const { topUps } = useTexts()
  if (problem?.code !== "rate_limited") return <ProblemNotice problem={problem} />
  return (
    <Notice kind="bad">
      <p>{topUps.tooManyUnpaid(Math.ceil((problem.retryAfterSeconds ?? 0) / SECONDS_PER_MINUTE))}</p>
    </Notice>
  )
}

export const NewTopUp = () => {
  const allTexts = useTexts()
  const { topUps: texts, shell } = allTexts
  const format = useFormat()
  const language = useLanguage()
  const search = useStore($router)?.search ?? {}
  // The top-up that was requested without a known result.
  const [unknown, setUnknown] = useState(pendingTopUp)
  const [method, setMethod] = useState<Method>(unknown?.request.method ?? "qris")
  const [typed, setTyped] = useState(
    unknown === undefined ? (search.amount ?? "") : typedAmount(unknown.request, language)
  )
  const [token, setToken] = useState(unknown?.request.token_kind ?? "usdt")
  const [malformed, setMalformed] = useState(false)
  const amount = amountOf(method, typed, language)
  const create = useAction(async (_: undefined, isCurrent) => {
    setMalformed(amount === undefined)
    if (amount === undefined) return
    const request: TopUpRequest = {
      method,
      ...(isRupiah(method) ? { amount_idr: amount } : { amount_usd_micro: amount }),
      ...(method === "crypto_bep20" ? { token_kind: token } : {})
    }
    const { topUp, isRepeat } = prepareTopUp(request, unknown)
    const body = { ...request, operation_id: topUp.operationId }
    const order = await bodyOf(api.POST("/api/reseller/topup", { body })).catch((error: unknown) => {
      const isUnavailable = error instanceof Problem && error.code === UNAVAILABLE
      if (isUnavailable || !mayBeExecuted(error, isRepeat)) forgetTopUp(topUp)
      setUnknown(pendingTopUp())
      throw error
    })
    forgetTopUp(topUp)
    if (isCurrent()) go(topUpPath(order.id))
  })
  const isRepeat =
    unknown?.request.method === method &&
    (unknown.request.amount_idr ?? unknown.request.amount_usd_micro) === amount &&
    (unknown.request.token_kind ?? token) === token
  const refusedAmount = amountIssueOf(create.problem, allTexts, format)
  const issue = malformed ? texts.amountIssues[isRupiah(method) ? "rupiah" : "dollars"] : refusedAmount
  return (
    <Page title={texts.create} back={{ path: pathOf("topUps"), text: shell.pages.topUps }} narrow>
      <Form onSubmit={() => create.run(undefined)} class="form card">
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
                  // When a running request ends, the page must open its order or show its problem.
                  if (!create.running) create.forget()
                  setMalformed(false)
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
            {(["usdt", "usdc"] as const).map((each) => (
              <label key={each} class="method">
                <input
                  type="radio"
                  name="token"
                  value={each}
                  checked={each === token}
                  onChange={() => setToken(each)}
                />
                <strong>{each.toUpperCase()}</strong>
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
        <Preview method={method} amount={amount} />
        {isRepeat && !create.running && (
          <Notice kind="warn" title={texts.unknown}>
            <p>{texts.unknownText}</p>
            <a class="button" href={pathOf("topUps")}>
              {texts.orders}
            </a>
          </Notice>
        )}
        {(!isRepeat || create.problem?.isUnknown === false) && refusedAmount === undefined && (
          <CreateProblem problem={create.problem} />
        )}
        <Submit running={create.running}>{isRepeat ? texts.sendAgain : texts.submit}</Submit>
      </Form>
    </Page>
  )
}
