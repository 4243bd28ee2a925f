/**
 * The stored form of an API key's secret part: its HMAC-SHA-256 under a pepper that is not in the database.
 *
 * Peppers have versions. New keys are stored under the current version. The other versions only verify older keys.
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import type { KeyMaterial } from "@tollgate/domain/customer/ApiKey"
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"

export interface KeyMacOptions {
  /** The prefix of every key: `tg`. */
  readonly prefix: string
  readonly peppers: ReadonlyMap<number, Redacted.Redacted<string>>
  /** One of the peppers. */
  readonly currentVersion: number
}

export interface StoredMac {
  readonly secretMac: Uint8Array
  readonly pepperVersion: number
}

export class KeyMac extends Context.Tag("@tollgate/adapters-postgres/KeyMac")<
  KeyMac,
  {
    readonly prefix: string
    /** The MAC of a new key, to be stored. */
    readonly seal: (key: KeyMaterial) => StoredMac
    /** Whether this is the stored key. The time does not depend on the stored MAC, or on whether there is one. */
    readonly verify: (key: KeyMaterial, stored: StoredMac | undefined) => boolean
  }
>() {}

const PLACEHOLDER_MAC = new Uint8Array(32)

export const make = ({ prefix, peppers, currentVersion }: KeyMacOptions): Context.Tag.Service<KeyMac> => {
  const macUnder = (pepper: Redacted.Redacted<string>, key: KeyMaterial): Uint8Array =>
    createHmac("sha256", Redacted.value(pepper))
      .update(`${key.publicId}:${Redacted.value(key.secretPart)}`)
      .digest()
  const current = peppers.get(currentVersion)
  if (current === undefined) throw new Error(`there is no key pepper of version ${currentVersion}`)
  return {
    prefix,
    seal: (key) => ({ secretMac: macUnder(current, key), pepperVersion: currentVersion }),
    verify: (key, stored) => {
      const pepper = stored && peppers.get(stored.pepperVersion)
      const equal = timingSafeEqual(macUnder(pepper ?? current, key), stored?.secretMac ?? PLACEHOLDER_MAC)
      return equal && pepper !== undefined
    }
  }
}

export const layer = (options: KeyMacOptions): Layer.Layer<KeyMac> => Layer.sync(KeyMac, () => make(options))
