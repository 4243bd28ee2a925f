/**
 * The home page of an operator: the items that may need a decision, each with a link to a page about it, and the state
 * of the service.
 */
import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import { api, bodyOf } from "../../api/Client.ts"
import { useLoaded } from "../../api/Loaded.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import { operatorPath, pathOf } from "../../routes/Routes.ts"
import { nowMillis } from "../../state/Clock.ts"
import { Loading, ProblemNotice } from "../../ui/Notices.tsx"
import { Card, Page } from "../../ui/Page.tsx"
import { useDecision } from "./Decision.tsx"
import { countHolds, type HoldCount } from "./HoldCounts.ts"
import { AnomalyBadges } from "./OrderBadges.tsx"
import { useReview } from "./ResellerReview.ts"

const SHOWN = 5

interface QueueProps<A> {
  readonly title: string
  readonly none: string
  readonly allPath: string
  readonly read: (signal: AbortSignal) => Promise<{ readonly data: ReadonlyArray<A> }>
  readonly round: number
  readonly row: (item: A) => ComponentChildren
}

/** The items that the gateway returns first, with a link to the whole list. */
const Queue = <A,>({ title, none, allPath, read, round, row }: QueueProps<A>) => {
  const { home } = useOperatorTexts()
  const list = useLoaded(read, [round])
  const all = (
    <a href={allPath}>
      {home.all}
      <span class="unseen">: {title}</span>
    </a>
  )
  return (
    <Card title={title} aside={all}>
      {list.data !== undefined && <ProblemNotice problem={list.problem} retry={list.reload} />}
      {list.data === undefined ? (
        <Loading problem={list.problem} retry={list.reload} />
      ) : list.data.data.length === 0 ? (
        <p class="muted">{none}</p>
      ) : (
        <ul class="rows">{list.data.data.map(row)}</ul>
      )}
    </Card>
  )
}

interface StateRowProps {
  readonly path: string
  readonly text: string
  readonly hint?: string
  readonly isFine: boolean
}

const StateRow = ({ path, text, hint, isFine }: StateRowProps) => (
  <li>
    <a class="row" href={path}>
      <span class="row-main">
        <span class={isFine ? undefined : "strong"}>{text}</span>
        {hint !== undefined && <small>{hint}</small>}
      </span>
      <span class="chevron" aria-hidden="true" />
    </a>
  </li>
)

const readState = async (signal: AbortSignal) => {
  const [{ providers }, holds, { audit }] = await Promise.all([
    bodyOf(api.GET("/api/operator/providers", { signal })),
    countHolds((page) => bodyOf(api.GET("/api/operator/holds", { params: { query: page }, signal })), nowMillis()),
    bodyOf(api.GET("/api/operator/audit", { signal }))
  ])
  return { failing: providers.filter(({ breaker }) => breaker !== "closed"), ...holds, audit }
}

const ServiceState = () => {
  const { home } = useOperatorTexts()
  const format = useFormat()
  const state = useLoaded(readState, [])
  if (state.data === undefined) return <Loading problem={state.problem} retry={state.reload} />
  const { audit, failing, old, orphaned } = state.data
  const [nodes, holds, checks] = [pathOf("operatorNodes"), pathOf("operatorHolds"), pathOf("operatorChecks")]
  const auditText = audit === null ? home.auditNone : audit.ok ? home.auditFine : home.auditFailed
  const shown = ({ count, orMore }: HoldCount) => (orMore ? home.orMore(format.count(count)) : format.count(count))
  const auditTime = audit === null ? {} : { hint: format.time(audit.finished_at) }
  return (
    <ul class="rows">
      {failing.map(({ name }) => (
        <StateRow key={name} path={nodes} text={home.breakerOpen(name)} hint={home.breakerText} isFine={false} />
      ))}
      {failing.length === 0 && <StateRow path={nodes} text={home.providersFine} isFine />}
      {orphaned.count > 0 && <StateRow path={holds} text={home.orphanedHolds(shown(orphaned))} isFine={false} />}
      {old.count > 0 && <StateRow path={holds} text={home.oldHolds(shown(old))} isFine={false} />}
      {old.count + orphaned.count === 0 && <StateRow path={holds} text={home.holdsFine} isFine />}
      <StateRow path={checks} text={auditText} {...auditTime} isFine={audit?.ok === true} />
      <StateRow path={checks} text={home.checks} hint={home.checksText} isFine />
    </ul>
  )
}

const limit = SHOWN

export const Home = () => {
  const { shell } = useTexts()
  const { home, images, resellers } = useOperatorTexts()
  const format = useFormat()
  const [round, setRound] = useState(0)
  const { ask, dialog } = useDecision(() => setRound((count) => count + 1))
  const review = useReview()
  return (
    <Page title={shell.pages.operatorHome} intro={home.intro}>
      <Queue
        title={home.resellers}
        none={home.noResellers}
        allPath={`${pathOf("operatorResellers")}?status=pending`}
        read={(signal) =>
          bodyOf(api.GET("/api/operator/resellers", { params: { query: { status: "pending", limit } }, signal }))
        }
        round={round}
        row={(reseller) => (
          <li class="row" key={reseller.id}>
            <span class="row-main">
              <a href={operatorPath("operatorReseller", reseller.id)} dir="auto">
                {reseller.name}
              </a>
              <small>
                <span dir="auto">{reseller.email}</span> · {reseller.wa_number}
                <br />
                {format.time(reseller.created_at)}
              </small>
            </span>
            <span class="actions">
              {(["approve", "reject"] as const).map((move) => (
                <button
                  key={move}
                  type="button"
                  class="button small"
                  onClick={() => ask(review(reseller.id, reseller.name, move))}
                >
                  {resellers.moves[move].confirm}
                  <span class="unseen"> {reseller.name}</span>
                </button>
              ))}
            </span>
          </li>
        )}
      />
      <div class="columns">
        <Queue
          title={home.topUps}
          none={home.noTopUps}
          allPath={`${pathOf("operatorTopUps")}?flagged=true`}
          read={(signal) =>
            bodyOf(api.GET("/api/operator/topups", { params: { query: { flagged: "true", limit } }, signal }))
          }
          round={round}
          row={(order) => (
            <li key={order.id}>
              <a class="row" href={operatorPath("operatorTopUp", order.id)}>
                <span class="row-main">
                  <span class="money">{format.usd(order.quota_usd_micro)}</span>
                  <small>
                    <span dir="auto">{order.reseller_email}</span> · {format.time(order.created_at)}
                  </small>
                </span>
                <AnomalyBadges order={order} />
              </a>
            </li>
          )}
        />
        <Queue
          title={home.images}
          none={home.noImages}
          allPath={pathOf("operatorImages")}
          read={(signal) => bodyOf(api.GET("/api/operator/image-reviews", { params: { query: { limit } }, signal }))}
          round={round}
          row={(image) => (
            <li key={image.request_id}>
              <a class="row" href={pathOf("operatorImages")}>
                <span class="row-main">
                  <span dir="auto">{image.email}</span>
                  <small>
                    <span dir="auto">{image.model}</span> · {images.reasons[image.reason]}
                    <br />
                    {format.time(image.queued_at)}
                  </small>
                </span>
                <span class="chevron" aria-hidden="true" />
              </a>
            </li>
          )}
        />
      </div>
      <Card title={home.service}>
        <ServiceState />
      </Card>
      {dialog}
    </Page>
  )
}
