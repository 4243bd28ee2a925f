/**
 * What was used for an answer that could not be told: charged to nobody, and recorded (gap C11).
 */
import { asObject } from "@tollgate/domain/inference/Json"
import { type ReportedUsage, unreported } from "@tollgate/domain/inference/ReportedUsage"
import type { RelayProtocol } from "./RelayProtocol.ts"

export const usageIn = ({ usageOf }: Pick<RelayProtocol<never>, "usageOf">, body: Buffer): ReportedUsage => {
  try {
    const answer = asObject(JSON.parse(body.toString()))
    return answer === undefined ? unreported : usageOf(answer)
  } catch {
    return unreported
  }
}
