/**
 * Identifies the party for which a fiber works: a reseller, a customer that reads its own data, or the IP address of a
 * client that has not logged in. The limits that are divided between parties use this value. The party is undefined for
 * background tasks and operators, to which these limits do not apply.
 */
import * as Context from "effect/Context"

export class CurrentParty extends Context.Reference<CurrentParty>()("@tollgate/application/CurrentParty", {
  defaultValue: (): string | undefined => undefined
}) {}
