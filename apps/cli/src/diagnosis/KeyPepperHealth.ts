/**
 * Checks under which pepper the API keys and the secrets of webhook endpoints are stored, so that an operator knows
 * when KEY_PEPPER_PREVIOUS can be removed.
 */
import { type EndpointPepperCounts, KeyPeppers, type PepperCounts } from "@tollgate/application/customer/KeyPeppers"
import { type Finding, fail, ok, warn } from "@tollgate/application/operator/Finding"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Settings } from "../runtime/Settings.ts"

/** Returns no finding if KEY_PEPPER is not set in this shell: another check reports this. */
export const keyPepperFindings: Effect.Effect<ReadonlyArray<Finding>, never, KeyPeppers | Settings> = Effect.gen(
  function* () {
    const { KEY_PEPPER_PREVIOUS } = yield* Settings
    const peppers = yield* KeyPeppers
    const keys = Option.match(yield* peppers.count, {
      onNone: () => [],
      onSome: (found) => [...refused(found), ...(KEY_PEPPER_PREVIOUS === undefined ? [] : [rotation(found)])]
    })
    return [...keys, ...Option.match(yield* peppers.countEndpoints, { onNone: () => [], onSome: webhookSecrets })]
  }
)

const refused = ({ all, refused: count }: PepperCounts): ReadonlyArray<Finding> =>
  count === 0
    ? []
    : [
        fail(
          "key peppers",
          `${count} of ${all} keys are stored under a pepper that is not set in this shell`,
          "Servers with the same settings refuse these keys. Set KEY_PEPPER_PREVIOUS to the pepper that KEY_PEPPER has replaced, or give the customers new keys."
        )
      ]

const rotation = ({ all, others, othersInUse }: PepperCounts): Finding =>
  others === 0
    ? ok("key rotation", `no key needs KEY_PEPPER_PREVIOUS; keys under KEY_PEPPER: ${all}`)
    : warn(
        "key rotation",
        `${others} of ${all} keys need KEY_PEPPER_PREVIOUS; used in the last 30 days: ${othersInUse}`,
        "Keep KEY_PEPPER_PREVIOUS. Within a minute after its use, a key is stored under KEY_PEPPER. A key that was not used stops working when KEY_PEPPER_PREVIOUS is removed."
      )

const ROTATE =
  "Rotate the secret of each endpoint that was created or rotated before KEY_PEPPER was replaced: tollgate webhooks endpoints rotate ID. A reseller can also rotate the secrets of its own endpoints."

const webhookSecrets = ({ all, others, unusable }: EndpointPepperCounts): ReadonlyArray<Finding> => {
  if (unusable > 0) {
    const detail = `${unusable} of ${all} webhook endpoints have a secret under a pepper that is not set in this shell`
    return [
      fail("webhook secrets", detail, `Servers with the same settings send no webhooks to these endpoints. ${ROTATE}`)
    ]
  }
  if (others === 0) return []
  return [warn("webhook secrets", `${others} of ${all} webhook endpoints need KEY_PEPPER_PREVIOUS`, ROTATE)]
}
