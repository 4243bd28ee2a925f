/**
 * The top-up orders of the reseller, newest first.
 */
import { useState } from "preact/hooks"
import { api, bodyOf } from "../../api/Client.ts"
import { useLoaded } from "../../api/Loaded.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { pathOf, topUpPath } from "../../routes/Routes.ts"
import { Download } from "../../ui/Download.tsx"
import { Empty, Loading, ProblemNotice } from "../../ui/Notices.tsx"
import { Card, Page } from "../../ui/Page.tsx"
import { OrderBadge } from "./OrderStatus.tsx"

const PAGE_SIZE = 20

export const TopUps = () => {
  const { topUps: texts, shell, common } = useTexts()
  const format = useFormat()
  const [offset, setOffset] = useState(0)
  const orders = useLoaded(
    (signal) => bodyOf(api.GET("/api/reseller/topups", { params: { query: { limit: PAGE_SIZE, offset } }, signal })),
    [offset]
  )
  const create = (
    <a class="button primary" href={pathOf("newTopUp")}>
      {texts.create}
    </a>
  )
  const list = () => {
    if (orders.data === undefined) return <Loading problem={orders.problem} retry={orders.reload} />
    const { topups, total } = orders.data
    if (total === 0) {
      return (
        <Empty title={texts.none}>
          <p>{texts.noneText}</p>
          {create}
        </Empty>
      )
    }
    return (
      <>
        <ProblemNotice problem={orders.problem} retry={orders.reload} />
        <ul class="rows">
          {topups.map((order) => (
            <li key={order.id}>
              <a class="row" href={topUpPath(order.id)}>
                <span class="row-main">
                  <span class="money">{format.usd(order.quota_usd_micro)}</span>
                  <small>
                    {texts.methods[order.payment_method]}
                    {order.total_idr !== undefined && ` · ${format.idr(order.total_idr)}`}
                    <br />
                    {format.time(order.created_at)}
                  </small>
                </span>
                <OrderBadge order={order} />
              </a>
            </li>
          ))}
        </ul>
        {total > PAGE_SIZE && (
          <p class="actions">
            <button
              type="button"
              class="button"
              disabled={offset === 0}
              onClick={() => setOffset(Math.max(0, offset - PAGE_SIZE))}
            >
              {common.newer}
            </button>
            <button
              type="button"
              class="button"
              disabled={offset + PAGE_SIZE >= total}
              onClick={() => setOffset(offset + PAGE_SIZE)}
            >
              {common.older}
            </button>
          </p>
        )}
      </>
    )
  }
  return (
    <Page title={shell.pages.topUps} intro={texts.intro} actions={create}>
      <Card title={texts.orders} aside={<Download path="/api/reseller/topups.csv" />}>
        {list()}
      </Card>
    </Page>
  )
}
