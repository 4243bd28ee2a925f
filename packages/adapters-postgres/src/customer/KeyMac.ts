/**
 * Computes and verifies the stored form of an API key: the HMAC-SHA-256 of its public id and secret part. The secret of
 * the HMAC is a pepper, which is not in the database.
 *
 * Peppers are numbered by version. New API keys are stored with the current pepper. The other peppers only verify older
 * API keys.
 */
import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto"
import type { KeyMaterial } from "@tollgate/domain/customer/ApiKey"
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"

export interface KeyMacOptions {
  /** Prefix of the text of every API key, such as `tg`. */
  readonly prefix: string
  readonly peppers: ReadonlyMap<number, Redacted.Redacted<string>>
  /** Version of the pepper that new keys use; one of the versions in `peppers`. */
  readonly currentVersion: number
}

export interface StoredMac {
  readonly secretMac: Uint8Array
  readonly pepperVersion: number
}

export interface DerivedKey {
  readonly key: Uint8Array
  readonly pepperVersion: number
}

export class KeyMac extends Context.Tag("@tollgate/adapters-postgres/KeyMac")<
  KeyMac,
  {
    readonly prefix: string
    /** Returns the MAC of a new key for storage. */
    readonly seal: (key: KeyMaterial) => StoredMac
    /**
     * Returns whether the key matches the stored MAC. The check takes the same time for every stored MAC, and also when
     * no MAC is stored.
     */
    readonly verify: (key: KeyMaterial, stored: StoredMac | undefined) => boolean
    /**
     * Returns a 32-byte key for another purpose, which is derived from the current pepper, or from the pepper of the given
     * version; undefined if there is no such pepper.
     */
    readonly derive: (purpose: string, version?: number) => DerivedKey | undefined
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
    },
    derive: (purpose, version = currentVersion) => {
      const pepper = peppers.get(version)
      if (pepper === undefined) return undefined
      const key = new Uint8Array(hkdfSync("sha256", Redacted.value(pepper), "", `tollgate ${purpose}`, 32))
      return { key, pepperVersion: version }
    }
  }
}

export const layer = (options: KeyMacOptions): Layer.Layer<KeyMac> => Layer.sync(KeyMac, () => make(options))
