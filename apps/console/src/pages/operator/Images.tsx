/**
 * The image reviews, oldest first. The operator resolves each review once, by waiving or charging the image request.
 */
import { useState } from "preact/hooks"
import { api, bodyOf } from "../../api/Client.ts"
import { type ImageReview, pageQuery } from "../../api/Operator.ts"
import { usdMicroOf } from "../../format/Amounts.ts"
import { useFormat } from "../../format/Format.ts"
import { useLanguage, useTexts } from "../../i18n/Language.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import { operatorPath, pathOf } from "../../routes/Routes.ts"
import { Field, Form, Select } from "../../ui/Forms.tsx"
import { Card, Page } from "../../ui/Page.tsx"
import { usePages } from "../../ui/Pages.tsx"
import { RowList } from "../../ui/RowList.tsx"
import { useDecision } from "./Decision.tsx"

type State = "waiting" | "all"

interface ReviewProps {
  readonly review: ImageReview
  readonly onWaive: () => void
  readonly onCharge: (amountUsdMicro: string) => void
}

const Review = ({ review, onWaive, onCharge }: ReviewProps) => {
  const { booking, images: texts } = useOperatorTexts()
  const format = useFormat()
  const language = useLanguage()
  const [issue, setIssue] = useState(false)
  const charge = ({ amount = "" }: Readonly<Record<string, string>>) => {
    const micro = usdMicroOf(amount, language)
    const isWrong = micro === undefined || micro === 0
    setIssue(isWrong)
    if (!isWrong) onCharge(String(micro))
  }
  const charged = review.charged_usd_micro === null ? "" : ` ${format.usd(review.charged_usd_micro)}`
  return (
    <li class="stack">
      <div class="row">
        <span class="row-main">
          <a href={operatorPath("operatorCustomer", review.user_id)} dir="auto">
            {review.email}
          </a>
          <small>
            <span dir="auto">{review.model}</span> · {texts.reasons[review.reason]}
            <br />
            {format.time(review.queued_at)}
            {review.resolved_because !== null && (
              <>
                <br />
                <span dir="auto">
                  {review.resolved_by}: {review.resolved_because}
                </span>
              </>
            )}
          </small>
        </span>
        {review.resolution === null ? (
          <button type="button" class="button small" onClick={onWaive}>
            {texts.waive}
            <span class="unseen"> {review.email}</span>
          </button>
        ) : (
          <span class="badge">
            {texts.resolutions[review.resolution]}
            {charged}
          </span>
        )}
      </div>
      {review.resolution === null && (
        <Form class="form inline" onSubmit={charge}>
          <Field
            label={booking.amount}
            name="amount"
            inputMode="decimal"
            autocomplete="off"
            required
            error={issue ? booking.amountIssue : undefined}
          />
          <p>
            <button type="submit" class="button">
              {texts.charge}
              <span class="unseen"> {review.email}</span>
            </button>
          </p>
        </Form>
      )}
    </li>
  )
}

export const Images = () => {
  const { shell } = useTexts()
  const { images: texts } = useOperatorTexts()
  const format = useFormat()
  const [state, setState] = useState<State>("waiting")
  const [round, setRound] = useState(0)
  const { ask, dialog } = useDecision(() => setRound((count) => count + 1))
  const reviews = usePages(
    (cursor) => bodyOf(api.GET("/api/operator/image-reviews", { params: { query: pageQuery({ state }, cursor) } })),
    [state, round]
  )
  const waive = ({ email, request_id }: ImageReview) =>
    ask({
      title: texts.waiveQuestion,
      text: texts.waiveText(email),
      confirm: texts.waive,
      reason: "required",
      send: (reason = "") =>
        bodyOf(
          api.POST("/api/operator/image-reviews/{requestID}/waive", {
            params: { path: { requestID: request_id } },
            body: { reason }
          })
        )
    })
  const charge = ({ email, request_id }: ImageReview, amount_usd_micro: string) =>
    ask({
      title: texts.chargeQuestion,
      text: (
        <>
          <p class="money strong">{format.usd(amount_usd_micro)}</p>
          <p>{texts.chargeText(email)}</p>
        </>
      ),
      confirm: texts.charge,
      reason: "required",
      send: (reason = "") =>
        bodyOf(
          api.POST("/api/operator/image-reviews/{requestID}/charge", {
            params: { path: { requestID: request_id } },
            body: { amount_usd_micro, reason }
          })
        )
    })
  return (
    <Page
      title={texts.title}
      intro={texts.intro}
      back={{ path: pathOf("operatorService"), text: shell.pages.operatorService }}
    >
      <Card title={texts.title}>
        <Select
          label={texts.state}
          value={state}
          onSelect={(value) => setState(value as State)}
          options={[
            ["waiting", texts.states.waiting],
            ["all", texts.states.all]
          ]}
        />
        <RowList
          pages={reviews}
          none={texts.none}
          row={(review) => (
            <Review
              key={review.request_id}
              review={review}
              onWaive={() => waive(review)}
              onCharge={(amount) => charge(review, amount)}
            />
          )}
        />
      </Card>
      {dialog}
    </Page>
  )
}
