/**
 * What this installation takes as top-ups.
 */
import type { TopUpBounds } from "@tollgate/domain/topup/TopUpRequest"
import * as Context from "effect/Context"

export class TopUpPolicy extends Context.Tag("@tollgate/application/TopUpPolicy")<
  TopUpPolicy,
  { readonly bounds: TopUpBounds }
>() {}
