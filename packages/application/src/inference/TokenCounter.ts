/**
 * Counts tokens here, for what no supplier reported.
 */

import type { Tokens } from "@tollgate/domain/money/Tokens"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export class TokenCounter extends Context.Tag("@tollgate/application/TokenCounter")<
  TokenCounter,
  {
    /** Linear in the text, whatever it is; long texts give way to other work in between. */
    readonly count: (text: string) => Effect.Effect<Tokens>
  }
>() {}
