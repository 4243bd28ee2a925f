/**
 * The usage of a range of days: its sums and a chart, or a hint if there was none.
 */
import type { ComponentChildren } from "preact"
import type { Loaded } from "../api/Loaded.ts"
import { useTexts } from "../i18n/Language.ts"
import { Empty, Loading } from "./Notices.tsx"
import { Card } from "./Page.tsx"
import { type DailyUsage, UsageChart } from "./UsageChart.tsx"
import { UsageSums } from "./UsageSums.tsx"

export interface DailyUsageProps {
  readonly title: string
  readonly usage: Loaded<DailyUsage>
  /** The hint that is shown if there was no usage. */
  readonly children: ComponentChildren
}

export const DailyUsageCard = ({ children, title, usage }: DailyUsageProps) => {
  const { usage: texts } = useTexts()
  return (
    <Card title={title}>
      {usage.problem !== undefined || usage.data === undefined ? (
        <Loading problem={usage.problem} retry={usage.reload} />
      ) : usage.data.days.length === 0 ? (
        <Empty title={texts.none}>{children}</Empty>
      ) : (
        <>
          <UsageSums usage={usage.data} />
          <UsageChart usage={usage.data} />
        </>
      )}
    </Card>
  )
}
