/**
 * Limits the services of a route group to those that its handlers use.
 *
 * `@effect/platform` merges all services with which a group was built into the context of every request. Effect copies
 * this context whenever a request gets a further service, for example its scope: 10 to 50 times per request. A server
 * has about 90 services, and each copy of all of them allocates 13 KB.
 */
import * as Context from "effect/Context"
import * as FiberRef from "effect/FiberRef"
import * as Layer from "effect/Layer"

/** The part of a `Context.Tag` that names the service. */
interface ServiceName {
  readonly key: string
  readonly Identifier: unknown
}

/**
 * Builds `routes` with only these services. The compiler refuses a list without a service that `routes` requires. The
 * compiler does not know which references (`Context.Reference`) the handlers read, so the list must name them too.
 */
export const withOnly =
  <const Services extends ReadonlyArray<ServiceName>>(...services: Services) =>
  <A, E, R extends Services[number]["Identifier"]>(routes: Layer.Layer<A, E, R>): Layer.Layer<A, E, R> =>
    Layer.locallyWith(routes, FiberRef.currentContext, only(services))

/** Returns a function that returns only these services of a context. */
export const only = (services: ReadonlyArray<ServiceName>) => {
  const keys = new Set(services.map(({ key }) => key))
  return <R>(context: Context.Context<R>): Context.Context<R> =>
    Context.unsafeMake(new Map([...context.unsafeMap].filter(([key]) => keys.has(key))))
}
