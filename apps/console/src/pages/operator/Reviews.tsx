/**
 * The decisions that wait for an operator: resellers to review, top-ups with an anomaly, and image requests that were
 * not charged. The operator confirms each decision before it is sent.
 */
import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import type { components } from "../../../dist/types/GatewayApi.d.ts"
import { api, bodyOf } from "../../api/Client.ts"
import { useAction } from "../../api/Loaded.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { Question } from "../../ui/Dialog.tsx"
import { Empty, ProblemNotice } from "../../ui/Notices.tsx"
import { Card, Page } from "../../ui/Page.tsx"
import { More, type Pages, usePages } from "../../ui/Pages.tsx"

type Schemas = components["schemas"]

/** A decision that the operator is about to make. */
interface Decision {
  readonly title: string
  readonly text: string
  readonly confirm: string
  readonly send: () => Promise<unknown>
}

interface QueueProps<A> {
  readonly title: string
  readonly pages: Pages<A>
  readonly row: (item: A) => ComponentChildren
}

const Queue = <A,>({ title, pages, row }: QueueProps<A>) => {
  const { operator } = useTexts()
  return (
    <Card title={title}>
      {pages.cursor === null && pages.items.length === 0 && <Empty title={operator.nothing} />}
      <ul class="rows">{pages.items.map(row)}</ul>
      <More pages={pages} />
    </Card>
  )
}

const cursorOf = (cursor: string | undefined) => (cursor === undefined ? {} : { cursor })

export const Reviews = () => {
  const { operator, shell, topUps } = useTexts()
  const format = useFormat()
  const [round, setRound] = useState(0)
  const [decision, setDecision] = useState<Decision>()
  const resellers = usePages(
    (cursor) => {
      const query = { status: "pending" as const, ...cursorOf(cursor) }
      return bodyOf(api.GET("/api/operator/resellers", { params: { query } }))
    },
    [round]
  )
  const orders = usePages(
    (cursor) => {
      const query = { flagged: "true" as const, ...cursorOf(cursor) }
      return bodyOf(api.GET("/api/operator/topups", { params: { query } }))
    },
    [round]
  )
  const images = usePages(
    (cursor) => bodyOf(api.GET("/api/operator/image-reviews", { params: { query: cursorOf(cursor) } })),
    [round]
  )
  const send = useAction(async (chosen: Decision) => {
    await chosen.send()
    setDecision(undefined)
    setRound((count) => count + 1)
  })
  const review = (reseller: Schemas["OperatorReseller"], move: "approve" | "reject"): Decision => ({
    title: operator.moves[move].question(reseller.name),
    text: operator.moves[move].text,
    confirm: operator.moves[move].confirm,
    send: () =>
      bodyOf(
        api.POST("/api/operator/resellers/{reseller}/review", {
          params: { path: { reseller: reseller.id } },
          body: { move }
        })
      )
  })
  const waive = (image: Schemas["ImageReview"]): Decision => ({
    title: operator.waiveQuestion,
    text: operator.waiveText(image.email),
    confirm: operator.waive,
    send: () =>
      bodyOf(
        api.POST("/api/operator/image-reviews/{requestID}/waive", {
          params: { path: { requestID: image.request_id } },
          body: { reason: "console: waived" }
        })
      )
  })
  return (
    <Page title={shell.pages.reviews} intro={operator.intro}>
      <Queue
        title={operator.resellers}
        pages={resellers}
        row={(reseller) => (
          <li class="row" key={reseller.id}>
            <span class="row-main">
              <span dir="auto">{reseller.name}</span>
              <small>
                <span dir="auto">{reseller.email}</span> · {reseller.wa_number}
                <br />
                {format.time(reseller.created_at)}
              </small>
            </span>
            <span class="actions">
              <button type="button" class="button small" onClick={() => setDecision(review(reseller, "approve"))}>
                {operator.moves.approve.confirm}
                <span class="unseen"> {reseller.name}</span>
              </button>
              <button type="button" class="button small" onClick={() => setDecision(review(reseller, "reject"))}>
                {operator.moves.reject.confirm}
                <span class="unseen"> {reseller.name}</span>
              </button>
            </span>
          </li>
        )}
      />
      <Queue
        title={operator.topUps}
        pages={orders}
        row={(order) => (
          <li class="row" key={order.id}>
            <span class="row-main">
              <code>{order.order_number}</code>
              <small>{order.status}</small>
            </span>
            <span class="badge warn">{order.anomalies.map((anomaly) => topUps.anomalies[anomaly]).join(", ")}</span>
          </li>
        )}
      />
      <Queue
        title={operator.images}
        pages={images}
        row={(image) => (
          <li class="row" key={image.request_id}>
            <span class="row-main">
              <span dir="auto">{image.email}</span>
              <small>
                <span dir="auto">{image.model}</span> · {image.reason} · {format.time(image.queued_at)}
              </small>
            </span>
            <button type="button" class="button small" onClick={() => setDecision(waive(image))}>
              {operator.waive}
              <span class="unseen"> {image.email}</span>
            </button>
          </li>
        )}
      />
      {decision !== undefined && (
        <Question
          title={decision.title}
          confirm={decision.confirm}
          running={send.running}
          onConfirm={() => send.run(decision)}
          onCancel={() => {
            send.forget()
            setDecision(undefined)
          }}
        >
          <p>{decision.text}</p>
          <ProblemNotice problem={send.problem} />
        </Question>
      )}
    </Page>
  )
}
