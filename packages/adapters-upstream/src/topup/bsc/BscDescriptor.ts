/**
 * Describes BNB Smart Chain as a payment provider: its environment variables, and the adapter settings that are made
 * from these variables.
 */
import {
  Credential,
  listOf,
  optional,
  wholeNumber,
  withDefault
} from "@tollgate/application/operations/EnvironmentSchema"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { describeProvider } from "../wire/PaymentProviderDescriptor.ts"
import { make, NAME } from "./BscPayments.ts"
import { type BscSettings, readNodes } from "./BscSettings.ts"
import * as DepositAddresses from "./DepositAddresses.ts"

const environment = Schema.Struct({
  BSC_RPC_URLS: optional(
    listOf("JSON-RPC URLs", Credential),
    "JSON-RPC URLs of BNB Smart Chain nodes, comma-separated, the preferred node first. Together with BSC_XPUB, enables `crypto_bep20`"
  ),
  BSC_XPUB: optional(
    Credential,
    "Extended public key (m/44'/60'/0'/0 or m/44'/60'/0') from which deposit addresses are derived; no other deployment may use the same key"
  ),
  BSC_LOG_RANGE: withDefault(
    wholeNumber("a whole number of blocks", 1, 100_000),
    2_000,
    "Maximum number of blocks in one `eth_getLogs` call. A search for transfers makes up to 12 calls"
  ),
  BSC_RPC_QUORUM: withDefault(
    wholeNumber("a whole number of nodes", 1, 8),
    1,
    "Number of BNB Smart Chain nodes that must agree on a payment before it is accepted"
  )
})

export const bsc = describeProvider({
  name: NAME,
  method: "crypto_bep20",
  environment,
  credentials: ["BSC_RPC_URLS", "BSC_XPUB"],
  productionErrors: ({ BSC_RPC_URLS: urls = [] }) =>
    urls.every((url) => Redacted.value(url).startsWith("https://"))
      ? []
      : [
          "BSC_RPC_URLS: https URLs are required in production; without https, an attacker on the network path could forge payments"
        ],
  settings: (values, { expiryMinutes, atSimulator }): BscSettings | undefined => {
    const { BSC_RPC_URLS: rpcUrls, BSC_XPUB: xpub } = values
    if (rpcUrls === undefined || xpub === undefined) return undefined
    return {
      rpcUrls,
      xpub,
      rpcQuorum: values.BSC_RPC_QUORUM,
      logRange: values.BSC_LOG_RANGE,
      expiryMinutes,
      atSimulator
    }
  },
  settingsErrors: (settings) => {
    const nodes = readNodes(settings)
    const addresses = DepositAddresses.read(settings.xpub, settings)
    return [
      ...(Either.isLeft(nodes) ? [`BSC_RPC_URLS: ${nodes.left}`] : []),
      ...(Either.isLeft(addresses) ? [`BSC_XPUB: ${addresses.left}`] : [])
    ]
  },
  make
})
