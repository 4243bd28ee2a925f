/**
 * A reseller gives a tier to a customer (spec: POST /api/reseller/mint): one transaction, whose rules are the domain's.
 */
import type { MintRequest } from "@tollgate/domain/mint/Mint"
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import * as Effect from "effect/Effect"
import { Mints } from "./Mints.ts"

export const mintTier = (resellerId: ResellerId, request: MintRequest) =>
  Effect.flatMap(Mints, ({ mint }) => mint(resellerId, request))
