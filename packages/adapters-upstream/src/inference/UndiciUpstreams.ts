/**
 * The suppliers over HTTP/1.1, through undici's `dispatch`: no promise, stream or redirect between a socket and the
 * relay. Only connecting is timed here; the relay times the rest.
 *
 * The credential of a provider is added here and is nowhere else.
 */
import {
  type UpstreamEvents,
  type UpstreamExchange,
  type UpstreamRequest,
  Upstreams
} from "@tollgate/application/inference/Upstreams"
import type { Provider } from "@tollgate/domain/catalog/Provider"
import { type CircuitOpen, type Overloaded, UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Runtime from "effect/Runtime"
import * as OriginPools from "./OriginPools.ts"
import * as ProviderGate from "./ProviderGate.ts"
import { UndiciExchange } from "./UndiciExchange.ts"

/** The key that an environment variable holds, asked for at every request. */
export type ProviderKeys = (apiKeyEnv: string) => Redacted.Redacted<string> | undefined

export interface UndiciUpstreamsOptions {
  readonly keys: ProviderKeys
  /** A clock of no particular epoch that never goes back; the process's own unless given. */
  readonly nowMillis?: () => number
}

export const make = ({ keys, nowMillis = () => performance.now() }: UndiciUpstreamsOptions) =>
  Effect.gen(function* () {
    const runtime = yield* Effect.runtime<never>()
    const gate = ProviderGate.make({
      nowMillis,
      onNotice: ({ notice, ...about }) => Runtime.runFork(runtime)(Effect.logWarning(notice, about))
    })
    const pools = yield* Effect.acquireRelease(
      Effect.sync(() => OriginPools.make(nowMillis)),
      ({ destroy }) => Effect.promise(destroy)
    )
    const targets = new WeakMap<Provider, Target>()
    const targetOf = (provider: Provider): Target => {
      const known = targets.get(provider)
      if (known !== undefined) return known
      const target = readTarget(provider)
      targets.set(provider, target)
      return target
    }

    const send = (
      { candidate, path, headers, body }: UpstreamRequest,
      events: UpstreamEvents
    ): Either.Either<UpstreamExchange, Overloaded | CircuitOpen | UpstreamFailed> => {
      const { provider } = candidate
      const key = keys(provider.apiKeyEnv)
      if (key === undefined || Redacted.value(key) === "") return failed(`${provider.apiKeyEnv} is not set`)
      const target = targetOf(provider)
      if (target === undefined) return failed(`the base_url of ${provider.name} is no address`)
      const entered = gate.enter(candidate)
      if (Either.isLeft(entered)) return Either.left(entered.left)
      return new UndiciExchange(events, entered.right).dispatch(pools.poolOf(target.origin), {
        method: "POST",
        path: target.basePath + path,
        headers: wireHeaders(headers, provider, key),
        body
      })
    }
    return Upstreams.of({ send })
  })

export const layer = (options: UndiciUpstreamsOptions): Layer.Layer<Upstreams> => Layer.scoped(Upstreams, make(options))

/** Where a provider is; absent when its address cannot be read. */
type Target = { readonly origin: string; readonly basePath: string } | undefined

const readTarget = ({ baseUrl }: Provider): Target => {
  if (!URL.canParse(baseUrl)) return undefined
  const { origin, pathname } = new URL(baseUrl)
  return { origin, basePath: pathname.replace(/\/+$/, "") }
}

/** Names set here, whatever the caller gave. */
const OURS = new Set(["authorization", "x-api-key", "accept-encoding", "host", "content-length", "connection"])

const wireHeaders = (
  given: UpstreamRequest["headers"],
  { auth }: Provider,
  key: Redacted.Redacted<string>
): Array<string> => {
  const headers = ["accept-encoding", "identity"]
  if (auth === "bearer") headers.push("authorization", `Bearer ${Redacted.value(key)}`)
  else headers.push("x-api-key", Redacted.value(key))
  for (const name in given) {
    const value = given[name]
    if (value !== undefined && !OURS.has(name.toLowerCase())) headers.push(name, value)
  }
  return headers
}

const failed = (cause: string) => Either.left(new UpstreamFailed({ cause }))
