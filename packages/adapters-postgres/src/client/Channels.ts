/**
 * What nodes tell each other through LISTEN and NOTIFY. A notification is a hint to look, never the fact itself.
 */

/** A key was made or revoked; the payload is its public id. */
export const KEYS_CHANNEL = "tollgate_keys"

/** The catalog changed; the payload is its version. */
export const CATALOG_CHANNEL = "tollgate_catalog"
