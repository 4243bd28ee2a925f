/**
 * Compares paths with the routes of the server, and suggests the intended route for an unknown path. In some clients
 * the base URL ends in `/v1`, in other clients it does not. Therefore a wrong base URL gives paths without `/v1` or
 * with `/v1` twice (docs/reference/errors.md#a9).
 */
export interface KnownRoute {
  readonly method: string
  readonly path: string
}

const matches = (pattern: string, path: string): boolean => {
  if (pattern.endsWith("*")) return path.startsWith(pattern.slice(0, -1))
  const wanted = pattern.split("/")
  const given = path.split("/")
  return wanted.length === given.length && wanted.every((part, i) => part.startsWith(":") || part === given[i])
}

/**
 * Returns whether a route has this method and exactly this path. The router of `@effect/platform` is less strict: it
 * unescapes the path of a request first. A reverse proxy that refuses some paths may not unescape them, so an escaped
 * path could reach a route that the proxy refuses.
 */
export const isServed = (routes: ReadonlyArray<KnownRoute>, method: string, path: string): boolean => {
  const served = method === "HEAD" ? "GET" : method
  return routes.some((route) => route.method === served && matches(route.path, path))
}

/** Returns the methods that the path accepts, or an empty list if the path is unknown. */
export const methodsOf = (routes: ReadonlyArray<KnownRoute>, path: string): ReadonlyArray<string> => {
  const methods = new Set(routes.filter((route) => matches(route.path, path)).map(({ method }) => method))
  if (methods.has("GET")) methods.add("HEAD")
  return [...methods].sort()
}

/**
 * Returns the corrected path: with `/v1` added, removed or written only once, and without repeated slashes. Returns
 * undefined if this gives no other path of a route.
 */
export const intendedPath = (routes: ReadonlyArray<KnownRoute>, path: string): string | undefined => {
  const bare = path.replace(/\/{2,}/g, "/").replace(/^(\/v1)+(?=\/|$)/, "")
  if (bare === "") return undefined
  return [`/v1${bare}`, bare].find((candidate) => candidate !== path && methodsOf(routes, candidate).length > 0)
}

const MAX_SHOWN = 200

export const notFoundMessage = (method: string, path: string, intended: string | undefined): string => {
  const shown = path.length > MAX_SHOWN ? `${path.slice(0, MAX_SHOWN)}...` : path
  return intended === undefined
    ? `There is no ${method} ${shown}. All routes are listed at /docs.`
    : `There is no ${method} ${shown}. Did you mean ${intended}? Check the base URL of your client.`
}
