/**
 * Asks one supplier how many tokens a prompt has. Not all of them can tell, and it matters to nobody but the caller of
 * the moment: whatever else they answer is no answer, and nothing is held against them.
 */
import type { UpstreamExchange, UpstreamRequest, Upstreams } from "@tollgate/application/inference/Upstreams"
import { asCount, asObject } from "@tollgate/domain/inference/Json"
import * as Tokens from "@tollgate/domain/money/Tokens"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"

type Said = Option.Option<Tokens.Tokens>

const ANSWER_BYTES = 64 * 1024

export const supplierCount = (
  upstreams: Context.Tag.Service<Upstreams>,
  request: UpstreamRequest
): Effect.Effect<Said> =>
  Effect.async((resume) => {
    const chunks: Array<Buffer> = []
    let bytes = 0
    let status = 0
    let exchange: UpstreamExchange | undefined
    let over = false
    const close = () => {
      over = true
      exchange?.close("undecided")
    }
    const say = (said: Said) => {
      if (over) return
      close()
      resume(Effect.succeed(said))
    }
    const sent = upstreams.send(request, {
      onHead: (head) => {
        status = head.status
      },
      onData: (chunk) => {
        bytes += chunk.length
        if (bytes > ANSWER_BYTES) say(Option.none())
        else chunks.push(chunk)
        return true
      },
      onEnd: () => say(status >= 200 && status < 300 ? countIn(Buffer.concat(chunks)) : Option.none()),
      onBroken: () => say(Option.none())
    })
    if (Either.isLeft(sent)) say(Option.none())
    else {
      exchange = sent.right
      if (over) exchange.close("undecided")
    }
    return Effect.sync(close)
  })

const countIn = (body: Buffer): Said => {
  try {
    const count = asCount(asObject(JSON.parse(body.toString()))?.input_tokens)
    return count === undefined ? Option.none() : Option.some(Tokens.fromCount(count))
  } catch {
    return Option.none()
  }
}
