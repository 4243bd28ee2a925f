/**
 * Computes and verifies the stored form of an API key: the HMAC-SHA-256 of its public id and secret part. The secret of
 * the HMAC is a pepper, which is not in the database.
 *
 * New API keys are stored under the current pepper. The previous pepper verifies keys and derives keys for stored
 * webhook secrets, but no new value is stored under it. Therefore the current pepper can be replaced without new API
 * keys (ADR 0014). The name of the pepper is stored with the MAC, and does not reveal the pepper.
 */
import { createHash, createHmac, hkdfSync, timingSafeEqual } from "node:crypto"
import type { KeyMaterial } from "@tollgate/domain/customer/ApiKey"
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"

export interface KeyMacOptions {
  /** Prefix of the text of every API key, such as `tg`. */
  readonly prefix: string
  readonly pepper: Redacted.Redacted<string>
  readonly previousPepper?: Redacted.Redacted<string> | undefined
}

export interface SealedKey {
  readonly secretMac: Uint8Array
  readonly pepperName: string
}

export interface DerivedKey {
  readonly key: Uint8Array
  readonly pepperVersion: number
}

export class KeyMac extends Context.Tag("@tollgate/adapters-postgres/KeyMac")<
  KeyMac,
  {
    readonly prefix: string
    readonly pepperName: string
    /** The name of the previous pepper; undefined if there is none. */
    readonly previousPepperName: string | undefined
    /** The versions of the current and the previous pepper, as in {@link DerivedKey}. */
    readonly pepperVersions: ReadonlyArray<number>
    /** Returns the MAC of a key under the current pepper, for storage. */
    readonly seal: (key: KeyMaterial) => SealedKey
    /**
     * Returns whether the key matches the stored MAC under the current or the previous pepper. The check takes the same
     * time for every stored MAC, and also when no MAC is stored.
     */
    readonly verify: (key: KeyMaterial, storedMac: Uint8Array | undefined) => boolean
    /**
     * Returns a 32-byte key for a purpose other than API keys. The key is derived from the pepper with this version, by
     * default from the current pepper. Returns undefined if there is no such pepper. The version is a number that is
     * computed from the pepper.
     */
    readonly derive: (purpose: string, version?: number) => DerivedKey | undefined
  }
>() {}

const PLACEHOLDER_MAC = new Uint8Array(32)

export const make = ({ pepper, prefix, previousPepper }: KeyMacOptions): Context.Tag.Service<KeyMac> => {
  const peppers = previousPepper === undefined ? [pepper] : [pepper, previousPepper]
  const pepperName = nameOf(pepper)
  return {
    prefix,
    pepperName,
    previousPepperName: previousPepper === undefined ? undefined : nameOf(previousPepper),
    pepperVersions: peppers.map(versionOf),
    seal: (key) => ({ secretMac: macUnder(pepper, key), pepperName }),
    verify: (key, storedMac) => {
      let genuine = false
      // Every pepper is tried, so that the time does not show which pepper matches.
      for (const tried of peppers) {
        const equal = timingSafeEqual(macUnder(tried, key), storedMac ?? PLACEHOLDER_MAC)
        genuine ||= equal && storedMac !== undefined
      }
      return genuine
    },
    derive: (purpose, version = versionOf(pepper)) => {
      const used = peppers.find((known) => versionOf(known) === version)
      if (used === undefined) return undefined
      const key = new Uint8Array(hkdfSync("sha256", Redacted.value(used), "", `tollgate ${purpose}`, 32))
      return { key, pepperVersion: version }
    }
  }
}

const macUnder = (pepper: Redacted.Redacted<string>, key: KeyMaterial): Uint8Array =>
  createHmac("sha256", Redacted.value(pepper))
    .update(`${key.publicId}:${Redacted.value(key.secretPart)}`)
    .digest()

const nameOf = (pepper: Redacted.Redacted<string>): string =>
  createHash("sha256")
    .update(`the name of the pepper ${Redacted.value(pepper)}`)
    .digest("hex")
    .slice(0, 8)

/** Returns a number that an integer column can store. */
const versionOf = (pepper: Redacted.Redacted<string>): number => parseInt(nameOf(pepper), 16) & 0x7fffffff

export const layer = (options: KeyMacOptions): Layer.Layer<KeyMac> => Layer.sync(KeyMac, () => make(options))
