/**
 * Settings of payments on BNB Smart Chain.
 */
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"

export interface BscSettings {
  /** JSON-RPC nodes, the preferred one first. Secret, because many contain an access key. */
  readonly rpcUrls: ReadonlyArray<Redacted.Redacted<string>>
  /** Extended public key of `m/44'/60'/0'/0`. No other deployment may use the same: they would share addresses. */
  readonly xpub: Redacted.Redacted<string>
  /** Number of nodes that must agree before a payment counts: with two, no single node can forge one. */
  readonly rpcQuorum: number
  /** Maximum number of blocks in one search for transfers. */
  readonly logRange: number
  /** From the creation of an order until it expires. */
  readonly expiryMinutes: number
  /** The nodes are a simulator, and no money is real. */
  readonly simulated: boolean
}

const MAX_NODES = 8

/** The nodes without duplicates, or the reason why the settings cannot be used. The reason contains no address. */
export const readNodes = ({ rpcUrls, rpcQuorum, logRange }: BscSettings): Either.Either<ReadonlyArray<URL>, string> => {
  const texts = rpcUrls.map((url) => Redacted.value(url).trim())
  if (texts.some((text) => !URL.canParse(text) || !isHttp(new URL(text)))) {
    return Either.left("a JSON-RPC address is no http or https address")
  }
  const urls = [...new Map(texts.map((text) => [nodeOf(new URL(text)), new URL(text)])).values()]
  if (urls.length === 0) return Either.left("no JSON-RPC address is given")
  if (urls.length > MAX_NODES) return Either.left(`more than ${MAX_NODES} JSON-RPC addresses are given`)
  if (!Number.isInteger(rpcQuorum) || rpcQuorum < 1 || rpcQuorum > urls.length) {
    return Either.left(`a quorum of ${rpcQuorum} is impossible with ${urls.length} different JSON-RPC addresses`)
  }
  if (!Number.isInteger(logRange) || logRange < 1) return Either.left(`a log range of ${logRange} blocks is impossible`)
  return Either.right(urls)
}

/** The part that identifies a node: two spellings of one address have the same. */
const nodeOf = ({ origin, pathname, search }: URL): string => origin + pathname + search

const isHttp = ({ protocol }: URL): boolean => protocol === "https:" || protocol === "http:"
