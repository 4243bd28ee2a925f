/**
 * Identifies the party for which a fiber works: a reseller, a customer that reads its own data, or the IP address of an
 * operator or of a client that has not logged in. The connections of the database pool are shared between these
 * parties. The party is undefined for background tasks and the command line, to which the shares do not apply.
 */
import * as Context from "effect/Context"

export class CurrentParty extends Context.Reference<CurrentParty>()("@tollgate/application/CurrentParty", {
  defaultValue: (): string | undefined => undefined
}) {}
