/**
 * Prepares the secrets that sign reseller tokens, paging cursors and QR image URLs.
 *
 * Each secret has a name. The current secret signs. The other secrets only verify older signatures, so that the
 * operator can replace a secret without logging resellers out.
 */
import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto"
import * as Redacted from "effect/Redacted"

export interface SigningSecrets {
  /**
   * Secrets by name, each of at least 32 UTF-8 bytes. The names are public: a token contains the name of its secret.
   */
  readonly secrets: ReadonlyMap<string, Redacted.Redacted<string>>
  /** Name of the secret that signs. */
  readonly current: string
}

/** Returns the settings of a deployment that has only one secret. */
export const onlySecret = (secret: Redacted.Redacted<string>): SigningSecrets => ({
  secrets: new Map([["1", secret]]),
  current: "1"
})

const MIN_BYTES = 32

/** Returns the bytes of each secret by name. Throws if a secret is too short or the current secret is missing. */
export const keysOf = ({ secrets, current }: SigningSecrets): ReadonlyMap<string, Uint8Array> => {
  const keys = new Map<string, Uint8Array>()
  for (const [name, secret] of secrets) {
    const bytes = new TextEncoder().encode(Redacted.value(secret))
    if (bytes.length < MIN_BYTES) throw new Error(`the signing secret '${name}' is shorter than ${MIN_BYTES} bytes`)
    keys.set(name, bytes)
  }
  if (!keys.has(current)) throw new Error(`there is no signing secret '${current}'`)
  return keys
}

/**
 * Computes and checks seals (HMACs) for one purpose, such as cursors. Each purpose has its own derived keys, so a seal
 * that was computed for another purpose is invalid.
 */
export interface Seals {
  readonly seal: (text: string) => Uint8Array
  readonly isSealed: (text: string, seal: Uint8Array) => boolean
}

const KEY_BYTES = 32

export const sealsFor = (purpose: string, settings: SigningSecrets): Seals => {
  const derived = (secret: Uint8Array) => new Uint8Array(hkdfSync("sha256", secret, "", purpose, KEY_BYTES))
  const keys = [...keysOf(settings)]
    .sort(([a], [b]) => Number(b === settings.current) - Number(a === settings.current))
    .map(([, secret]) => derived(secret))
  const macs = (text: string) => keys.map((key) => createHmac("sha256", key).update(text).digest())
  return {
    seal: (text) => macs(text)[0] as Buffer,
    isSealed: (text, seal) => macs(text).some((mac) => mac.length === seal.length && timingSafeEqual(mac, seal))
  }
}
