/**
 * Refuses the members of a body with which a client can select a second model. The provider would run the second model
 * and charge the gateway for it, but the customer would be charged the price of the first model
 * (docs/reference/inference.md#x1).
 */
import { InvalidRequest } from "@tollgate/domain/inference/InferenceErrors"
import type { ScannedMember } from "./JsonScan.ts"

/**
 * Returns the error for the first of these members that is a list of models; undefined if none is, or all are empty.
 */
export const otherModelsIn = (members: {
  readonly [param: string]: ScannedMember | undefined
}): InvalidRequest | undefined => {
  for (const param in members) {
    const member = members[param]
    if (member?.type === "array" && !member.empty) return namesOtherModel(param)
  }
  return undefined
}

export const namesOtherModel = (param: string): InvalidRequest =>
  new InvalidRequest({ message: `'${param}' must not name another model: a request is served by one model.`, param })
