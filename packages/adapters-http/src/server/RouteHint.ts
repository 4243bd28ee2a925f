/**
 * Where a lost request probably wanted to go. Clients disagree about whether a base address ends in `/v1`, and so
 * miss a path or double it (gap A9).
 */
export interface KnownRoute {
  readonly method: string
  readonly path: string
}

const matches = (pattern: string, path: string): boolean => {
  const wanted = pattern.split("/")
  const given = path.split("/")
  return wanted.length === given.length && wanted.every((part, i) => part.startsWith(":") || part === given[i])
}

/** The methods this path answers to; none when there is no such path. */
export const methodsOf = (routes: ReadonlyArray<KnownRoute>, path: string): ReadonlyArray<string> => {
  const methods = new Set(routes.filter((route) => matches(route.path, path)).map(({ method }) => method))
  if (methods.has("GET")) methods.add("HEAD")
  return [...methods].sort()
}

/** The route that was meant; undefined when none comes to mind. */
export const meantPath = (routes: ReadonlyArray<KnownRoute>, path: string): string | undefined => {
  const bare = path.replace(/\/{2,}/g, "/").replace(/^(\/v1)+(?=\/|$)/, "")
  if (bare === "") return undefined
  return [`/v1${bare}`, bare].find((candidate) => candidate !== path && methodsOf(routes, candidate).length > 0)
}

const MAX_SHOWN = 200

export const notFoundMessage = (method: string, path: string, meant: string | undefined): string => {
  const shown = path.length > MAX_SHOWN ? `${path.slice(0, MAX_SHOWN)}...` : path
  return meant === undefined
    ? `There is no ${method} ${shown}. The routes of this service are listed at /docs.`
    : `There is no ${method} ${shown}. Did you mean ${meant}? Check the base address of your client.`
}
