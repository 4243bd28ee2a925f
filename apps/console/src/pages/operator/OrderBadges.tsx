/**
 * The badges of a top-up order for operators: its status and its anomalies.
 */
import type { OperatorTopUp } from "../../api/Operator.ts"
import { useTexts } from "../../i18n/Language.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"

const kinds: { readonly [S in OperatorTopUp["status"]]: string } = {
  pending: "info",
  crediting: "info",
  credited: "good",
  expired: "",
  failed: "bad"
}

export const StatusBadge = ({ order }: { readonly order: OperatorTopUp }) => {
  const { topUps } = useOperatorTexts()
  return <span class={`badge ${kinds[order.status]}`}>{topUps.statuses[order.status]}</span>
}

export const AnomalyBadges = ({ order }: { readonly order: OperatorTopUp }) => {
  const { topUps } = useTexts()
  return (
    <>
      {order.anomalies.map((anomaly) => (
        <span key={anomaly} class="badge warn">
          {topUps.anomalies[anomaly]}
        </span>
      ))}
    </>
  )
}
