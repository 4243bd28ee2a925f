/**
 * Identifies the party for which a fiber works: a reseller, a customer that reads its own data, or the IP address of an
 * operator or of a client that has not logged in. The connections of the database pool are divided between these
 * parties. The shares do not apply to a fiber without a party, such as a background task.
 */
import * as Context from "effect/Context"

export class CurrentParty extends Context.Reference<CurrentParty>()("@tollgate/application/CurrentParty", {
  defaultValue: (): string | undefined => undefined
}) {}
