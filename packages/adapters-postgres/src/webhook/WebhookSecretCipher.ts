/**
 * Encrypts the secrets of webhook endpoints. A digest is not enough, because a server signs with the secret itself. A
 * copy of the database alone is not enough to sign a webhook.
 *
 * The cipher is AES-256-GCM, with a key that is derived from a pepper of the API keys. The id of the endpoint is
 * authenticated too, so a stored secret cannot be decrypted in the row of another endpoint.
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto"
import type { WebhookEndpointId } from "@tollgate/domain/webhook/WebhookEndpoint"
import type * as Context from "effect/Context"
import * as Redacted from "effect/Redacted"
import type { KeyMac } from "../customer/KeyMac.ts"

type Keys = Context.Tag.Service<KeyMac>
type Secret = Redacted.Redacted<string>

export interface SealedSecret {
  readonly sealed: Buffer
  readonly pepperVersion: number
}

const PURPOSE = "webhook secrets"
const ALGORITHM = "aes-256-gcm"
const NONCE_BYTES = 12
const TAG_BYTES = 16
const SECRET_BYTES = 32

/** Creates a secret in the form of the Standard Webhooks specification: `whsec_` and 32 random bytes in base64. */
export const newSecret = (): Secret => Redacted.make(`whsec_${randomBytes(SECRET_BYTES).toString("base64")}`)

export const seal = (keys: Keys, endpointId: WebhookEndpointId, secret: Secret): SealedSecret => {
  const derived = keys.derive(PURPOSE)
  if (derived === undefined) throw new Error("there is no current key pepper")
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, derived.key, nonce).setAAD(Buffer.from(endpointId))
  const text = Buffer.concat([cipher.update(Redacted.value(secret), "utf8"), cipher.final()])
  return { sealed: Buffer.concat([nonce, text, cipher.getAuthTag()]), pepperVersion: derived.pepperVersion }
}

/**
 * Returns the secret; undefined if the pepper of the derived key is not configured, or if the stored bytes cannot be
 * decrypted, for example because they were altered.
 */
export const open = (
  keys: Keys,
  endpointId: WebhookEndpointId,
  { sealed, pepperVersion }: SealedSecret
): Secret | undefined => {
  const derived = keys.derive(PURPOSE, pepperVersion)
  if (derived === undefined || sealed.length < NONCE_BYTES + TAG_BYTES) return undefined
  const decipher = createDecipheriv(ALGORITHM, derived.key, sealed.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES
  })
    .setAAD(Buffer.from(endpointId))
    .setAuthTag(sealed.subarray(-TAG_BYTES))
  try {
    const text = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES))
    return Redacted.make(Buffer.concat([text, decipher.final()]).toString("utf8"))
  } catch {
    return undefined
  }
}
