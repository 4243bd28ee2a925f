/**
 * Defines the settings of payments on BNB Smart Chain, and validates the node URLs.
 */
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"

export interface BscSettings {
  /** The URLs of JSON-RPC nodes, the preferred node first. The URLs are secret, because many contain an access key. */
  readonly rpcUrls: ReadonlyArray<Redacted.Redacted<string>>
  /**
   * The extended public key of `m/44'/60'/0'/0` or of its parent. Each deployment needs its own key, because
   * deployments with the same key would use the same addresses.
   */
  readonly xpub: Redacted.Redacted<string>
  /**
   * The number of BSC nodes that must agree on a payment before the payment is accepted. If two nodes must agree, a
   * single node cannot forge a payment.
   */
  readonly rpcQuorum: number
  /** The maximum number of blocks in one `eth_getLogs` call. */
  readonly logRange: number
  /** Minutes from the creation of an order until it expires. */
  readonly expiryMinutes: number
  /** True if the nodes are a simulator, so that payments are not real money. */
  readonly atSimulator: boolean
}

const MAX_NODES = 8

/**
 * Returns the node URLs without duplicates, or the reason why the settings cannot be used. The reason contains no URL,
 * because URLs can contain access keys.
 */
export const readNodes = ({ rpcUrls, rpcQuorum, logRange }: BscSettings): Either.Either<ReadonlyArray<URL>, string> => {
  const texts = rpcUrls.map((url) => Redacted.value(url).trim())
  if (texts.some((text) => !URL.canParse(text) || !isHttp(new URL(text)))) {
    return Either.left("a JSON-RPC URL is not an http or https URL")
  }
  const urls = [...new Map(texts.map((text) => [nodeOf(new URL(text)), new URL(text)])).values()]
  if (urls.length === 0) return Either.left("no JSON-RPC URL is given")
  if (urls.length > MAX_NODES) return Either.left(`more than ${MAX_NODES} JSON-RPC URLs are given`)
  if (!Number.isInteger(rpcQuorum) || rpcQuorum < 1 || rpcQuorum > urls.length) {
    return Either.left(`a quorum of ${rpcQuorum} is impossible with ${urls.length} different JSON-RPC URLs`)
  }
  if (!Number.isInteger(logRange) || logRange < 1) return Either.left(`a log range of ${logRange} blocks is impossible`)
  return Either.right(urls)
}

/** Returns the parts of a URL that identify a node: all except the user name, the password and the fragment. */
const nodeOf = ({ origin, pathname, search }: URL): string => origin + pathname + search

const isHttp = ({ protocol }: URL): boolean => protocol === "https:" || protocol === "http:"
