/**
 * Changes a balance in two steps: the amount with its reason, and the confirmation, which shows the balance after the
 * change until the request is sent.
 *
 * A change is shown as booked only after the gateway has confirmed it. If the response is lost or has a status from 500
 * on, the page states that the result is unknown, until a response to a repeat proves the result. A repeat uses the
 * same operation id.
 */
import { useState } from "preact/hooks"
import { useAction } from "../../api/Loaded.ts"
import { mayBeExecuted } from "../../api/OperationResult.ts"
import type { Problem } from "../../api/Problem.ts"
import { usdMicroOf } from "../../format/Amounts.ts"
import { useFormat } from "../../format/Format.ts"
import { useLanguage, useTexts } from "../../i18n/Language.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import { type PendingBooking, useBooking } from "../../state/PendingBooking.ts"
import { Facts } from "../../ui/Facts.tsx"
import { Field, Form, Select, Submit } from "../../ui/Forms.tsx"
import { Notice } from "../../ui/Notices.tsx"
import { Card } from "../../ui/Page.tsx"
import { Steps } from "../../ui/Steps.tsx"
import { MAX_REASON_LENGTH } from "./Decision.tsx"
import { OperatorProblem } from "./Problems.tsx"

export interface BookingRequest {
  readonly operation_id: string
  readonly amount_usd_micro: string
  readonly reason: string
}

export interface Booked {
  readonly balanceUsdMicro: string
  /** True if an earlier request with the operation id booked the change. */
  readonly wasBooked: boolean
}

interface BookingFormProps {
  readonly title: string
  /** Names the account, such as `quota <id of the reseller>`. */
  readonly account: string
  readonly balanceUsdMicro: string | undefined
  readonly canDeduct?: boolean
  readonly book: (request: BookingRequest) => Promise<Booked>
  readonly onBooked: () => void
}

interface AmountProps {
  readonly canDeduct: boolean
  readonly onReview: (amountUsdMicro: string, reason: string) => void
}

const Amount = ({ canDeduct, onReview }: AmountProps) => {
  const { booking: texts, decision } = useOperatorTexts()
  const language = useLanguage()
  const [sign, setSign] = useState("")
  const [issue, setIssue] = useState(false)
  const review = ({ amount = "", reason = "" }: Readonly<Record<string, string>>) => {
    const micro = usdMicroOf(amount, language)
    const isWrong = micro === undefined || micro === 0
    setIssue(isWrong)
    if (!isWrong) onReview(`${sign}${micro}`, reason)
  }
  return (
    <Form onSubmit={review}>
      {canDeduct && (
        <Select
          label={texts.direction}
          value={sign}
          onSelect={setSign}
          options={[
            ["", texts.add],
            ["-", texts.deduct]
          ]}
        />
      )}
      <Field
        label={texts.amount}
        name="amount"
        inputMode="decimal"
        autocomplete="off"
        required
        error={issue ? texts.amountIssue : undefined}
      />
      <Field
        label={decision.reason}
        hint={decision.reasonHint}
        name="reason"
        autocomplete="off"
        required
        maxLength={MAX_REASON_LENGTH}
      />
      <Submit running={false}>{texts.review}</Submit>
    </Form>
  )
}

interface ConfirmProps {
  readonly pending: PendingBooking
  readonly balanceUsdMicro: string | undefined
  readonly send: { readonly running: boolean; readonly problem: Problem | undefined; readonly run: () => void }
  readonly onDiscard: () => void
}

const Confirm = ({ pending, balanceUsdMicro, send, onDiscard }: ConfirmProps) => {
  const { booking: texts, decision } = useOperatorTexts()
  const { common } = useTexts()
  const format = useFormat()
  const change = BigInt(pending.amountUsdMicro)
  const before = pending.isSent || balanceUsdMicro === undefined ? undefined : BigInt(balanceUsdMicro)
  return (
    <section class="stack" aria-label={texts.confirm}>
      {pending.isSent && !send.running && (
        <Notice kind="warn" title={texts.unknown}>
          {texts.unknownText}
        </Notice>
      )}
      <Facts
        facts={[
          [texts.change, <strong>{format.usd(change)}</strong>],
          [decision.reason, pending.reason],
          [texts.before, before === undefined ? undefined : format.usd(before)],
          [texts.after, before === undefined ? undefined : format.usd(before + change)]
        ]}
      />
      {send.problem?.isUnknown === false && <OperatorProblem problem={send.problem} />}
      <p class="actions">
        <button type="button" class="button primary" aria-disabled={send.running} onClick={send.run}>
          {send.running ? common.sending : pending.isSent ? texts.sendAgain : texts.book}
        </button>
        {!send.running && (
          <button type="button" class="button" onClick={onDiscard}>
            {pending.isSent ? texts.discard : common.back}
          </button>
        )}
      </p>
    </section>
  )
}

export const BookingForm = (props: BookingFormProps) => {
  const { title, account, balanceUsdMicro, canDeduct = false, book, onBooked } = props
  const { booking: texts } = useOperatorTexts()
  const format = useFormat()
  const booking = useBooking(account)
  const [booked, setBooked] = useState<Booked>()
  const send = useAction(async (pending: PendingBooking, isCurrent) => {
    booking.markSent(true)
    const { operationId, amountUsdMicro, reason } = pending
    const request = { operation_id: operationId, amount_usd_micro: amountUsdMicro, reason }
    const result = await book(request).catch((error: unknown) => {
      // If the operator has left this page, another request with the same id can have been sent.
      booking.markSent(mayBeExecuted(error, pending.isSent || !isCurrent()))
      throw error
    })
    booking.forget()
    setBooked(result)
    onBooked()
  })
  const content = () => {
    if (booked !== undefined) {
      return (
        <div class="stack">
          <Notice kind="good" title={texts.done}>
            {booked.wasBooked ? texts.doneBefore : undefined}
          </Notice>
          <Facts facts={[[texts.balance, <strong>{format.usd(booked.balanceUsdMicro)}</strong>]]} />
          <p>
            <button type="button" class="button" onClick={() => setBooked(undefined)}>
              {texts.another}
            </button>
          </p>
        </div>
      )
    }
    const { pending } = booking
    if (pending === undefined) return <Amount canDeduct={canDeduct} onReview={booking.prepare} />
    return (
      <Confirm
        pending={pending}
        balanceUsdMicro={balanceUsdMicro}
        send={{ running: send.running, problem: send.problem, run: () => send.run(pending) }}
        onDiscard={() => {
          send.forget()
          booking.forget()
        }}
      />
    )
  }
  return (
    <Card title={title}>
      <Steps step={booked === undefined ? (booking.pending?.operationId ?? "amount") : "booked"}>{content()}</Steps>
    </Card>
  )
}
