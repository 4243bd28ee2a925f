/**
 * The path of a request, as routes are compared with it: without its query and without one trailing slash.
 */
const split = (target: string): { readonly path: string; readonly query: string } => {
  const at = target.indexOf("?")
  return at < 0 ? { path: target, query: "" } : { path: target.slice(0, at), query: target.slice(at) }
}

const trimmed = (path: string): string => (path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path)

export const pathOf = (target: string): string => trimmed(split(target).path)

/** The same target without the trailing slash of its path. */
export const withoutTrailingSlash = (target: string): string => {
  const { path, query } = split(target)
  return trimmed(path) + query
}
