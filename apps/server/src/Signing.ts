/**
 * What reseller tokens, cursors and links are signed with: the secret of now, and the one before it while it is being
 * replaced.
 */
import { createHash } from "node:crypto"
import type { SigningSecrets } from "@tollgate/adapters-http/auth/SigningSecrets"
import * as Redacted from "effect/Redacted"

type Secret = Redacted.Redacted<string>

/** A secret keeps its name when it becomes the one before, so that what it signed is still found to be its. */
export const signingSecrets = (current: Secret, previous: Secret | undefined): SigningSecrets => ({
  secrets: new Map([current, ...(previous === undefined ? [] : [previous])].map((secret) => [nameOf(secret), secret])),
  current: nameOf(current)
})

/** Tells one secret from another, and nothing about it. */
const nameOf = (secret: Secret): string =>
  createHash("sha256")
    .update(`the name of ${Redacted.value(secret)}`)
    .digest("hex")
    .slice(0, 8)
