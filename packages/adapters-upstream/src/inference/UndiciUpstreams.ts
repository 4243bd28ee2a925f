/**
 * Sends requests to upstreams over HTTP/1.1 with undici's `dispatch`. `dispatch` passes data from the socket directly
 * to the caller (the relay or the code for images), uses no promises or streams, and follows no redirects. This adapter
 * applies the timeouts of connections. The caller applies the timeouts of responses.
 *
 * No other module adds the API keys of providers to requests.
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

/**
 * Returns the API key that belongs to the environment variable `apiKeyEnv`; undefined if there is none. The function is
 * called for every request.
 */
export type ProviderKeys = (apiKeyEnv: string) => Redacted.Redacted<string> | undefined

export interface UndiciUpstreamsOptions {
  readonly keys: ProviderKeys
  /** Returns the time of a monotonic clock in milliseconds since an arbitrary instant. Default: `performance.now`. */
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
      if (target === undefined) return failed(`the base_url of ${provider.name} is not a URL`)
      const acquired = gate.acquire(candidate)
      if (Either.isLeft(acquired)) return Either.left(acquired.left)
      return new UndiciExchange(events, acquired.right).dispatch(pools.poolOf(target.origin), {
        method: "POST",
        path: target.basePath + path,
        headers: wireHeaders(headers, provider, key),
        body
      })
    }
    const containsApiKey = (text: string, providers: ReadonlyArray<Provider>): boolean =>
      providers.some(({ apiKeyEnv }) => {
        const key = keys(apiKeyEnv)
        return key !== undefined && isSearchable(Redacted.value(key)) && text.includes(Redacted.value(key))
      })
    return Upstreams.of({ send, containsApiKey, loads: gate.loads })
  })

export const layer = (options: UndiciUpstreamsOptions): Layer.Layer<Upstreams> => Layer.scoped(Upstreams, make(options))

/** The base URL of a provider, split into the parts that undici needs; undefined if the URL cannot be parsed. */
type Target = { readonly origin: string; readonly basePath: string } | undefined

const readTarget = ({ baseUrl }: Provider): Target => {
  if (!URL.canParse(baseUrl)) return undefined
  const { origin, pathname } = new URL(baseUrl)
  return { origin, basePath: pathname.replace(/\/+$/, "") }
}

/** The names of headers that only this adapter and undici set. Headers of the caller with these names are ignored. */
const OWN_HEADERS = new Set(["authorization", "x-api-key", "accept-encoding", "host", "content-length", "connection"])

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
    if (value !== undefined && !OWN_HEADERS.has(name.toLowerCase())) headers.push(name, value)
  }
  return headers
}

/** Returns false for a short key, because it could be an ordinary word, such as the key of a local model server. */
const isSearchable = (key: string): boolean => key.length >= 8

const failed = (cause: string) => Either.left(new UpstreamFailed({ cause }))
