/**
 * One API key: its limits with the used amounts, and its revocation.
 */
import { useState } from "preact/hooks"
import { api, bodyOf } from "../../api/Client.ts"
import { useLoaded } from "../../api/Loaded.ts"
import type { KeyStatus } from "../../api/Operator.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import { operatorPath, type PageProps, pathOf } from "../../routes/Routes.ts"
import { Facts } from "../../ui/Facts.tsx"
import { Card, Page } from "../../ui/Page.tsx"
import { useDecision } from "./Decision.tsx"
import { KeyLimits, type LimitsOutcome } from "./KeyLimits.tsx"
import { LoadingPage } from "./LoadingPage.tsx"
import { OperatorProblem } from "./Problems.tsx"

const Used = ({ status }: { readonly status: KeyStatus }) => {
  const { keys: texts } = useOperatorTexts()
  const format = useFormat()
  const used = status.limit_usage
  if (used === null) return <p class="muted">{texts.notCounted}</p>
  return (
    <Facts
      facts={[
        [texts.today, format.cost(used.spent_usd_micro_today)],
        [texts.month, format.cost(used.spent_usd_micro_this_month)],
        [texts.total, format.cost(used.spent_usd_micro_total)],
        [texts.held, format.cost(used.held_usd_micro)],
        [texts.available, used.available_usd_micro === null ? undefined : format.cost(used.available_usd_micro)],
        [texts.open, format.count(used.open_requests)],
        [texts.requests, format.count(used.requests_this_minute)],
        [texts.tokens, format.count(used.tokens_this_minute)]
      ]}
    />
  )
}

export const Key = ({ id }: PageProps) => {
  const { keys: shared, shell } = useTexts()
  const { keys: texts } = useOperatorTexts()
  const format = useFormat()
  const [round, setRound] = useState(0)
  const [change, setChange] = useState<{ readonly outcome: LimitsOutcome; readonly before: KeyStatus }>()
  const again = () => setRound((count) => count + 1)
  const path = { keyID: id }
  const key = useLoaded(
    (signal) => bodyOf(api.GET("/api/operator/keys/{keyID}", { params: { path }, signal })),
    [id, round]
  )
  const { ask, dialog } = useDecision(again)
  const { data } = key
  if (data === undefined) {
    const back = { path: pathOf("operatorCustomers"), text: shell.pages.operatorCustomers }
    return <LoadingPage title={texts.one} back={back} loaded={key} />
  }
  // A new read of the key replaces what the fields contain, so the outcome is shown only after this read.
  const isRead = change !== undefined && (data !== change.before || key.problem !== undefined)
  const revoke = () =>
    ask({
      title: shared.revokeQuestion(data.name),
      text: shared.revokeText,
      confirm: shared.revoke,
      reason: "optional",
      send: (reason) => {
        const body = reason === undefined ? {} : { reason }
        return bodyOf(api.POST("/api/operator/keys/{keyID}/revoke", { params: { path }, body }))
      }
    })
  return (
    <Page title={data.name} back={{ path: operatorPath("operatorCustomer", data.user_id), text: texts.customer }}>
      <OperatorProblem problem={key.problem} retry={key.reload} />
      <div class="columns">
        <Card
          title={texts.details}
          aside={data.revoked_at === null ? undefined : <span class="badge bad">{shared.revoked}</span>}
        >
          <Facts
            facts={[
              [texts.name, data.name],
              [texts.id, <code>{data.key_id}</code>],
              [shared.createdAt(""), format.time(data.created_at)],
              [shared.revoked, data.revoked_at === null ? undefined : format.time(data.revoked_at)]
            ]}
          />
          {data.revoked_at === null && (
            <p class="actions">
              <button type="button" class="button danger" onClick={revoke}>
                {shared.revoke}
              </button>
            </p>
          )}
        </Card>
        <Card title={texts.used}>
          <Used status={data} />
        </Card>
      </div>
      {data.revoked_at === null && (
        <KeyLimits
          // With a new value of `key`, Preact builds the fields again, so that they show the limits that the gateway
          // has stored.
          key={JSON.stringify(data.limits)}
          status={data}
          outcome={isRead ? change.outcome : undefined}
          onOutcome={(outcome) => {
            setChange(outcome && { outcome, before: data })
            if (outcome !== undefined) again()
          }}
        />
      )}
      {dialog}
    </Page>
  )
}
