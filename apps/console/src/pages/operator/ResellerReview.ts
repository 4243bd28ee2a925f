/**
 * Builds the dialogs in which an operator confirms a change of a reseller's status.
 */
import { api, bodyOf } from "../../api/Client.ts"
import type { Reseller } from "../../api/Operator.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import type { Decision } from "./Decision.tsx"

export type Move = "approve" | "reject" | "suspend" | "reactivate"

/** The decisions of an operator that each status allows (docs/reference/reseller.md#b8). */
export const movesOf: { readonly [S in Reseller["status"]]: ReadonlyArray<Move> } = {
  pending: ["approve", "reject"],
  active: ["suspend"],
  suspended: ["reactivate"],
  rejected: ["approve"]
}

export const useReview = () => {
  const { resellers } = useOperatorTexts()
  return (id: string, name: string, move: Move): Decision => ({
    title: resellers.moves[move].question(name),
    text: resellers.moves[move].text,
    confirm: resellers.moves[move].confirm,
    reason: "optional",
    send: (reason) => {
      const body = reason === undefined ? { move } : { move, reason }
      return bodyOf(api.POST("/api/operator/resellers/{reseller}/review", { params: { path: { reseller: id } }, body }))
    }
  })
}
