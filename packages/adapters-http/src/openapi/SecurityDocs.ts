/**
 * How callers identify themselves, for the documentation. The checks are elsewhere: the library's own bearer scheme
 * does not look at the scheme at all.
 */
const SCHEMES = {
  apiKey: { type: "http", scheme: "bearer", description: "A customer's API key." },
  xApiKey: { type: "apiKey", in: "header", name: "x-api-key", description: "The same key in the other header." },
  resellerToken: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description: "The token of a reseller's login."
  }
}

/** On an operation: the key in either header. */
export const keyNeeded = { security: [{ apiKey: [] }, { xApiKey: [] }] }

/** On an operation: the token of a reseller. */
export const resellerTokenNeeded = { security: [{ resellerToken: [] }] }

export const withSecuritySchemes = (specification: Record<string, unknown>): Record<string, unknown> => {
  const components = specification.components as Record<string, unknown>
  return { ...specification, components: { ...components, securitySchemes: SCHEMES } }
}
