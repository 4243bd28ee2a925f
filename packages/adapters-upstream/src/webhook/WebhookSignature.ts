/**
 * Signs webhooks by the Standard Webhooks specification (https://www.standardwebhooks.com). A receiver can verify the
 * signature with any library for this specification.
 */
import { createHmac } from "node:crypto"
import * as Redacted from "effect/Redacted"

export interface UnsignedWebhook {
  readonly id: string
  /** The time of the attempt, in seconds since 1970. */
  readonly timestampSeconds: number
  readonly body: string
}

const PREFIX = "whsec_"

/** Returns the headers that sign a webhook, with one signature for each secret. */
export const signedHeaders = (
  { id, timestampSeconds, body }: UnsignedWebhook,
  secrets: ReadonlyArray<Redacted.Redacted<string>>
): Readonly<Record<string, string>> => ({
  "webhook-id": id,
  "webhook-timestamp": String(timestampSeconds),
  "webhook-signature": secrets
    .map((secret) => {
      const key = Buffer.from(Redacted.value(secret).slice(PREFIX.length), "base64")
      return `v1,${createHmac("sha256", key).update(`${id}.${timestampSeconds}.${body}`).digest("base64")}`
    })
    .join(" ")
})
