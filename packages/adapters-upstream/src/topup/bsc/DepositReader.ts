/**
 * Reads the current deposit of an order from BSC nodes: the number of tokens that arrived at the address of the
 * order, computed from token balances at final blocks. If the order is paid, also searches for the transfers. The
 * transfers are evidence and give the time of the payment. The balances, not the transfers, decide whether the order is
 * paid.
 */
import { floorToUsdMicro, TokenRaw } from "@tollgate/domain/money/TokenRaw"
import type { PaymentEvidence, PaymentObservation, Received } from "@tollgate/domain/topup/PaymentObservation"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Block, BscNode } from "./BscNode.ts"
import type { BscNodePool } from "./BscNodePool.ts"
import type { BscSettings } from "./BscSettings.ts"
import { otherToken, TOKEN_CONTRACTS } from "./BscTokens.ts"
import type { Deposit } from "./Deposit.ts"
import { RpcFailed } from "./JsonRpc.ts"
import { completedIn, scan } from "./TransferScan.ts"

export interface DepositReader {
  /**
   * Reads the number of tokens that arrived since the payment was opened. A later observation can report a smaller
   * amount. The caller stores the maximum.
   */
  readonly read: (deposit: Deposit) => Effect.Effect<PaymentObservation, RpcFailed>
}

/**
 * The timeouts of the decision and of the search for evidence. Their sum is less than the timeout of the whole call in
 * BscPayments.
 */
const DECISION_TIMEOUT = Duration.seconds(5)
const EVIDENCE_TIMEOUT = Duration.seconds(1.5)

const MAX_LOGGED_STRAYS = 1_000

/** The amount that one node reports, or the lowest amount that several nodes report. */
interface Seen {
  readonly block: Block
  readonly receivedRaw: TokenRaw
}

export const make = (
  nodes: BscNodePool,
  { rpcQuorum, logRange }: Pick<BscSettings, "rpcQuorum" | "logRange">
): DepositReader => {
  const decide = (deposit: Deposit): Effect.Effect<Seen, RpcFailed> => {
    const { contract, address, baselineRaw, expectedRaw } = deposit
    const query = (node: BscNode) =>
      Effect.gen(function* () {
        const balance = yield* node.balanceOf(contract, address)
        // Read the block after the balance, so that the balance consists only of transfers up to this block.
        const block = yield* node.finalizedBlock
        const seen: Seen = { block, receivedRaw: TokenRaw(balance > baselineRaw ? balance - baselineRaw : 0n) }
        return seen
      })
    return Effect.gen(function* () {
      const [first] = yield* nodes.ask(1, query)
      if (rpcQuorum === 1 || first.receivedRaw < expectedRaw) return first
      const all = yield* nodes.ask(rpcQuorum, query)
      const least = all.reduce((a, b) => (b.receivedRaw < a.receivedRaw ? b : a))
      // The nodes disagree on whether the order is paid: at least one node is behind the chain or wrong.
      return least.receivedRaw < expectedRaw ? yield* disputed : least
    })
  }

  const transfersOf = ({ contract, address, fromBlock }: Deposit, { block, receivedRaw }: Seen) =>
    nodes
      .ask(1, (node) =>
        scan(node, { contract, to: address, fromBlock, toBlock: block.number, amountRaw: receivedRaw }, logRange)
      )
      .pipe(Effect.map(([transfers]) => transfers))

  const blockAt = (number: number) =>
    Effect.map(
      nodes.ask(1, (node) => node.block(number)),
      ([block]) => block
    )

  const paid = (deposit: Deposit, seen: Seen): Effect.Effect<PaymentObservation> =>
    Effect.gen(function* () {
      const transfers = yield* transfersOf(deposit, seen)
      const block = completedIn(transfers, deposit.expectedRaw, seen.receivedRaw)
      const completed = block === undefined ? Option.none() : yield* Effect.option(blockAt(block))
      return {
        transactions: [...new Set(transfers.map(({ transaction }) => transaction))],
        paidAt: Option.getOrUndefined(completed)?.minedAt
      }
    }).pipe(
      Effect.timeoutOption(EVIDENCE_TIMEOUT),
      Effect.map(Option.getOrUndefined),
      Effect.orElseSucceed(() => undefined),
      Effect.map((known) => ({
        _tag: "Paid",
        paidAt: known?.paidAt,
        received: receivedOf(seen),
        evidence: known && { transactions: known.transactions, remarks: [] }
      }))
    )

  /** The addresses for which a deposit of the wrong token was already logged. */
  const strays = new Set<string>()

  const strayEvidence = ({ tokenKind, address }: Deposit): Effect.Effect<PaymentEvidence | undefined> =>
    Effect.gen(function* () {
      const kind = otherToken(tokenKind)
      const [balance] = yield* nodes.ask(1, (node) => node.balanceOf(TOKEN_CONTRACTS[kind], address))
      if (balance === 0n) return undefined
      if (!strays.has(address)) {
        if (strays.size >= MAX_LOGGED_STRAYS) strays.clear()
        strays.add(address)
        yield* Effect.logWarning(
          `${kind} arrived at a deposit address that expects ${tokenKind}; the deposit is not counted`,
          {
            address,
            raw: `${balance}`
          }
        )
      }
      return { transactions: [], remarks: [`${balance} ${kind} (in the smallest unit) at the address are not counted`] }
    }).pipe(
      Effect.timeoutOption(EVIDENCE_TIMEOUT),
      Effect.map(Option.getOrUndefined),
      Effect.orElseSucceed(() => undefined)
    )

  const pending = (deposit: Deposit, seen: Seen): Effect.Effect<PaymentObservation> =>
    Effect.map(strayEvidence(deposit), (evidence) => ({ _tag: "Pending", received: receivedOf(seen), evidence }))

  return {
    read: (deposit) =>
      decide(deposit).pipe(
        Effect.timeoutFail({ duration: DECISION_TIMEOUT, onTimeout: () => timedOut }),
        Effect.flatMap((seen) =>
          seen.receivedRaw >= deposit.expectedRaw ? paid(deposit, seen) : pending(deposit, seen)
        )
      )
  }
}

const failed = (kind: RpcFailed["kind"], detail: string) => new RpcFailed({ kind, code: undefined, detail })
const timedOut = failed("timeout", "too few nodes responded in time")
const disputed = failed("bad_response", "the nodes disagree on whether the order is paid")

const receivedOf = ({ receivedRaw }: Seen): Received | undefined =>
  receivedRaw === 0n ? undefined : { receivedRaw, receivedUsdMicro: floorToUsdMicro(receivedRaw) }
