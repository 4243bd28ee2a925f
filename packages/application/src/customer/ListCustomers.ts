/**
 * The customers of a reseller (spec: GET /api/reseller/customers).
 */
import type { ResellerId } from "@tollgate/domain/reseller/Reseller"
import * as Effect from "effect/Effect"
import { Customers } from "./Customers.ts"

export const listCustomers = (resellerId: ResellerId) => Effect.flatMap(Customers, ({ list }) => list(resellerId))
