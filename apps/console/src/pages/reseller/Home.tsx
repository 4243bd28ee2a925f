/**
 * The home of a reseller: the quota, the next steps, and the sales and the usage of the month.
 */
import { api, bodyOf } from "../../api/Client.ts"
import { type Loaded, useLoaded } from "../../api/Loaded.ts"
import { isUnderpaid } from "../../api/OrderState.ts"
import {
  firstOfMonth,
  type Order,
  readCustomers,
  readOrdersInProgress,
  readQuota,
  readSales,
  readTiers,
  type Sales,
  type Tier
} from "../../api/Reseller.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { customerPath, pathOf, topUpPath } from "../../routes/Routes.ts"
import { Empty, Loading } from "../../ui/Notices.tsx"
import { Card, Page } from "../../ui/Page.tsx"
import { type DailyUsage, UsageChart } from "../../ui/UsageChart.tsx"

const Quota = ({ quota }: { readonly quota: Loaded<bigint> }) => {
  const { home } = useTexts()
  const format = useFormat()
  if (quota.data === undefined) return <Loading problem={quota.problem} retry={quota.reload} />
  return (
    <section class="hero" aria-label={home.quota}>
      <p class="hero-label">{home.quota}</p>
      <p class="hero-figure">{format.usd(quota.data)}</p>
      <p class="actions">
        <a class="button primary" href={pathOf("mint")}>
          {home.mint}
        </a>
        <a class="button" href={pathOf("newTopUp")}>
          {home.topUp}
        </a>
      </p>
    </section>
  )
}

interface AttentionProps {
  readonly quota: bigint | undefined
  readonly tiers: ReadonlyArray<Tier> | undefined
  readonly orders: ReadonlyArray<Order> | undefined
  readonly customers: number | undefined
  /** True until each part is loaded or has failed. */
  readonly isLoading: boolean
}

/** The next steps of the reseller, the most urgent first. */
const Attention = ({ quota, tiers, orders, customers, isLoading }: AttentionProps) => {
  const { home } = useTexts()
  const format = useFormat()
  const cheapest = tiers?.[0]?.price_usd_micro
  const hasLowQuota = quota !== undefined && cheapest !== undefined && quota < BigInt(cheapest)
  const items = [
    ...(orders ?? []).map((order) => ({
      path: topUpPath(order.id),
      text: isUnderpaid(order)
        ? home.underpaid(format.usd(order.quota_usd_micro))
        : order.status === "crediting"
          ? home.crediting(format.usd(order.quota_usd_micro))
          : home.unpaid(format.usd(order.quota_usd_micro), format.time(order.expires_at))
    })),
    ...(hasLowQuota ? [{ path: pathOf("newTopUp"), text: home.lowQuota(format.usd(cheapest)) }] : []),
    ...(customers === 0 ? [{ path: pathOf("customers"), text: home.noCustomers }] : []),
    ...(tiers?.length === 0 ? [{ path: pathOf("mint"), text: home.noTiers }] : [])
  ]
  if (isLoading) return <Loading problem={undefined} retry={() => undefined} />
  if (items.length === 0) return null
  return (
    <Card title={home.attention}>
      <ul class="rows">
        {items.map(({ path, text }) => (
          <li key={text}>
            <a class="row" href={path}>
              <span>{text}</span>
              <span class="chevron" aria-hidden="true" />
            </a>
          </li>
        ))}
      </ul>
    </Card>
  )
}

const SalesCard = ({ sales, month }: { readonly sales: Loaded<Sales>; readonly month: string }) => {
  const { home } = useTexts()
  const format = useFormat()
  const data = sales.data
  return (
    <Card title={home.sales(format.month(month))}>
      {data === undefined ? (
        <Loading problem={sales.problem} retry={sales.reload} />
      ) : data.count === 0 ? (
        <Empty title={home.noSales}>
          <a class="button" href={pathOf("mint")}>
            {home.mint}
          </a>
        </Empty>
      ) : (
        <>
          <dl class="figures-row">
            <div>
              <dt>{home.sold}</dt>
              <dd>
                {data.isComplete ? "" : "\u2265 "}
                {format.usd(data.usdMicro)}
              </dd>
            </div>
            <div>
              <dt>{home.mints}</dt>
              <dd>
                {data.isComplete ? "" : "\u2265 "}
                {format.count(data.count)}
              </dd>
            </div>
          </dl>
          <ul class="rows">
            {data.latest.map((mint) => (
              <li key={mint.operation_id}>
                <a class="row" href={customerPath(mint.customer_user_id)}>
                  <span class="row-main">
                    <span dir="auto">{mint.customer_email}</span>
                    <small>
                      {mint.model_name} · {format.time(mint.minted_at)}
                    </small>
                  </span>
                  <span class="money">{format.usd(mint.price_usd_micro)}</span>
                </a>
              </li>
            ))}
          </ul>
        </>
      )}
    </Card>
  )
}

const UsageCard = ({ usage, month }: { readonly usage: Loaded<DailyUsage>; readonly month: string }) => {
  const { home } = useTexts()
  const format = useFormat()
  const data = usage.data
  const tokens = data?.days.reduce((sum, day) => sum + day.total_tokens, 0) ?? 0
  return (
    <Card title={home.usage(format.month(month))} aside={<a href={pathOf("usage")}>{home.allUsage}</a>}>
      {data === undefined ? (
        <Loading problem={usage.problem} retry={usage.reload} />
      ) : tokens === 0 ? (
        <Empty title={home.noUsage} />
      ) : (
        <>
          <dl class="figures-row">
            <div>
              <dt>{home.tokens}</dt>
              <dd>{format.count(tokens)}</dd>
            </div>
            <div>
              <dt>{home.requests}</dt>
              <dd>{format.count(data.days.reduce((sum, day) => sum + day.requests, 0))}</dd>
            </div>
          </dl>
          <UsageChart usage={data} />
        </>
      )}
    </Card>
  )
}

export const Home = () => {
  const { shell } = useTexts()
  const from = firstOfMonth()
  const quota = useLoaded(readQuota, [])
  const tiers = useLoaded(readTiers, [])
  const orders = useLoaded(readOrdersInProgress, [])
  const customers = useLoaded(readCustomers, [])
  const sales = useLoaded((signal) => readSales(from, signal), [])
  const usage = useLoaded(
    (signal) => bodyOf(api.GET("/api/reseller/usage/daily", { params: { query: { from } }, signal })),
    []
  )
  return (
    <Page title={shell.pages.home}>
      <Quota quota={quota} />
      <Attention
        quota={quota.data}
        tiers={tiers.data}
        orders={orders.data}
        customers={customers.data?.length}
        isLoading={[quota, tiers, orders, customers].some(({ data, problem }) => data === undefined && !problem)}
      />
      <div class="columns">
        <SalesCard sales={sales} month={from} />
        <UsageCard usage={usage} month={from} />
      </div>
    </Page>
  )
}
