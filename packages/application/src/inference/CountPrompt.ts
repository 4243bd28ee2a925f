/**
 * How many tokens a prompt has, before it is sent: what a supplier of the model says, or else an estimate of ours.
 *
 *     authenticate ─▶ read ─▶ find the model ─▶ ask its suppliers, for a moment ─▶ estimate
 *
 * Nothing is answered, so nothing is held, charged or recorded (gap F14); for the same reason it is bounded in time and
 * in work.
 */
import { type Candidate, candidatesOf, known } from "@tollgate/domain/catalog/Catalog"
import type { PromptText } from "@tollgate/domain/inference/PromptText"
import * as Tokens from "@tollgate/domain/money/Tokens"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { CurrentCatalog } from "../catalog/Catalogs.ts"
import { ApiKeyAuthenticator } from "./ApiKeyAuthenticator.ts"
import type { BodyRefusal, InferenceRequest, RelayConnection } from "./RelayConnection.ts"
import { TokenCounter } from "./TokenCounter.ts"

export interface CountClient<Request extends InferenceRequest>
  extends Pick<RelayConnection<Request>, "protocol" | "presentedKey" | "takeBody" | "read"> {
  /** What this supplier says, if it says anything. Interrupting it aborts the supplier at once. */
  readonly ask: (request: Request, candidate: Candidate) => Effect.Effect<Option.Option<Tokens.Tokens>>
}

/** For all suppliers together. */
const PATIENCE = Duration.seconds(5)
/** What is longer is counted so far and taken to go on like that. */
const COUNTED_CHARACTERS = 200_000

export const countPrompt = <Request extends InferenceRequest>(client: CountClient<Request>) =>
  Effect.gen(function* () {
    const presented = yield* client.presentedKey
    yield* (yield* ApiKeyAuthenticator).authenticate(presented)
    const body = yield* Effect.async<Buffer, BodyRefusal>((resume) => client.takeBody(resume))
    const request = yield* client.read(body)
    const catalog = (yield* CurrentCatalog).get()
    const candidates = candidatesOf(catalog, yield* known(catalog, request.model), client.protocol)
    const said = yield* Effect.timeoutOption(firstSaid(client, request, candidates), PATIENCE)
    return Option.isSome(said) && Option.isSome(said.value) ? said.value.value : yield* estimated(request.promptText())
  })

const firstSaid = <Request extends InferenceRequest>(
  client: CountClient<Request>,
  request: Request,
  candidates: ReadonlyArray<Candidate>
): Effect.Effect<Option.Option<Tokens.Tokens>> =>
  Effect.gen(function* () {
    for (const candidate of candidates) {
      const said = yield* client.ask(request, candidate)
      if (Option.isSome(said)) return said
    }
    return Option.none()
  })

const estimated = ({ text, extraTokens }: PromptText): Effect.Effect<Tokens.Tokens, never, TokenCounter> =>
  Effect.gen(function* () {
    const counted = yield* (yield* TokenCounter).count(text.slice(0, COUNTED_CHARACTERS))
    const whole =
      text.length <= COUNTED_CHARACTERS
        ? counted
        : Tokens.Tokens((counted * BigInt(text.length)) / BigInt(COUNTED_CHARACTERS))
    return Tokens.add(whole, Tokens.fromCount(extraTokens))
  })
