/**
 * Takes payments in USDT and USDC on BNB Smart Chain without an intermediary. Each order has a separate address. The
 * received amount is the token balance of the address at the last final block, minus its balance when the payment was
 * opened.
 *
 * Because the adapter reads the balances of two known token contracts at final blocks, it adds up partial payments, is
 * safe from chain reorganisations and ignores fake tokens. It does not detect withdrawals: if tokens leave an address
 * before its order is credited, the received amount is too low.
 */
import {
  AmountRejected,
  type OpenedPayment,
  type PaymentIntent,
  type PaymentProvider,
  ProviderUnavailable
} from "@tollgate/application/topup/PaymentProviders"
import type { DepositIndexRange } from "@tollgate/application/topup/TopUpRecovery"
import { TokenRaw, tokenRawOf } from "@tollgate/domain/money/TokenRaw"
import type { TokenKind } from "@tollgate/domain/topup/PaymentMethod"
import * as Arr from "effect/Array"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as BscNode from "./BscNode.ts"
import * as BscNodePool from "./BscNodePool.ts"
import { type BscSettings, readNodes } from "./BscSettings.ts"
import { CHAIN_ID, TOKEN_CONTRACTS } from "./BscTokens.ts"
import { DepositState, ofOpened } from "./Deposit.ts"
import * as DepositAddresses from "./DepositAddresses.ts"
import * as DepositReader from "./DepositReader.ts"
import * as JsonRpc from "./JsonRpc.ts"

export const NAME = "bsc"
/**
 * The timeout of a call. It is a second shorter than the timeout of the use case that refreshes an order, so that a
 * slow call ends with the error of this adapter, not with an interruption.
 */
const CALL_TIMEOUT = Duration.seconds(7)
const MINUTE_MILLIS = 60_000
const TOKEN_KINDS: ReadonlyArray<TokenKind> = ["usdt", "usdc"]
const MAX_CONCURRENT_READS = 4

/**
 * Makes the payment provider. If a setting cannot be used, `probe` fails and so does every call that needs the setting.
 * If only the extended public key is wrong, open orders are still refreshed, because their addresses are stored.
 */
export const make = (settings: BscSettings): Effect.Effect<PaymentProvider, never, Scope.Scope> =>
  Effect.gen(function* () {
    const label = settings.atSimulator ? `${NAME}-simulator` : NAME
    const agent = yield* Effect.acquireRelease(JsonRpc.openAgent(), (open) => Effect.promise(() => open.destroy()))
    const unavailable = (kind: ProviderUnavailable["kind"], detail: string) =>
      new ProviderUnavailable({ provider: label, kind, ambiguous: false, detail })
    const notConfigured = (why: string) => unavailable("not_configured", why)

    const nodes = Either.map(readNodes(settings), (urls) =>
      urls.map((url, i) => BscNode.make(JsonRpc.make(`node ${i + 1} of ${urls.length}`, url, agent)))
    )
    const pool = BscNodePool.make(Either.getOrElse(nodes, () => []))
    const reader = DepositReader.make(pool, settings)
    const addresses = DepositAddresses.read(settings.xpub, settings)
    const usableNodes = Effect.mapError(nodes, notConfigured)
    const addressAt = (index: number) =>
      Effect.mapError(
        Either.flatMap(addresses, (of) => of.at(index)),
        notConfigured
      )

    /** Applies the timeout and maps RPC failures to the failures of the port `PaymentProvider`. */
    const withinLimit = <A, E>(
      calls: Effect.Effect<A, E | JsonRpc.RpcFailed>
    ): Effect.Effect<A, E | ProviderUnavailable> =>
      calls.pipe(
        Effect.mapError((failure) =>
          failure instanceof JsonRpc.RpcFailed ? unavailable(failure.kind, failure.detail) : failure
        ),
        Effect.timeoutFail({
          duration: CALL_TIMEOUT,
          onTimeout: () => unavailable("timeout", "too few nodes responded in time")
        })
      )

    const probe = Effect.gen(function* () {
      const all = yield* usableNodes
      const first = yield* addressAt(0)
      const results = yield* Effect.forEach(
        all,
        (node) => Effect.either(Effect.andThen(node.identify, node.finalizedBlock)),
        { concurrency: "unbounded" }
      )
      const failures = results.flatMap((result) => (Either.isLeft(result) ? [result.left] : []))
      // The setting of a node that serves another chain or other tokens is wrong, even if the other nodes are correct.
      const mistake = failures.find(({ kind }) => kind === "not_configured")
      if (mistake !== undefined) return yield* mistake
      const [failure] = failures
      if (failure !== undefined && all.length - failures.length < settings.rpcQuorum) return yield* failure
      yield* Effect.logInfo("first deposit address; check that the wallet shows the same address", {
        provider: label,
        first
      })
    })

    /**
     * Returns the balance of an address, and the first block whose transfers it does not surely include. Skips nodes
     * that are behind the chain. Fails if the nodes disagree on the balance.
     */
    const balanceAt = (contract: string, address: string) =>
      Effect.gen(function* () {
        const seen = yield* pool.ask(settings.rpcQuorum, (node) =>
          // Read the block before the balance, so that the balance already includes every transfer up to this block.
          Effect.all({ block: node.finalizedBlock, balance: node.balanceOf(contract, address) })
        )
        const [{ balance }] = seen
        if (seen.some((other) => other.balance !== balance)) {
          return yield* unavailable("bad_response", `the nodes disagree on the balance of ${address}`)
        }
        return { balance, nextBlock: Math.min(...seen.map(({ block }) => block.number)) + 1 }
      })

    /** Returns the balance of an address before its payment, and the first block that can contain the payment. */
    const baselineOf = (contract: string, address: string) =>
      Effect.gen(function* () {
        const { balance, nextBlock } = yield* balanceAt(contract, address)
        if (balance > 0n) {
          yield* Effect.logWarning(
            "a new deposit address already has a balance; check that no other deployment uses the same extended public key",
            {
              provider: label,
              address
            }
          )
        }
        return { baselineRaw: balance, fromBlock: nextBlock }
      })

    const open = ({ due, depositIndex, createdAt }: PaymentIntent) =>
      Effect.gen(function* () {
        yield* usableNodes
        if (due._tag !== "Dollars") return yield* unavailable("rejected", "the order is not in dollars")
        if (depositIndex === undefined) return yield* unavailable("rejected", "the order has no deposit index")
        const expectedRaw = tokenRawOf(due.amountUsdMicro)
        if (expectedRaw === 0n) return yield* new AmountRejected({ provider: label, detail: "the amount is zero" })
        const { tokenKind } = due
        const contractAddress = TOKEN_CONTRACTS[tokenKind]
        const depositAddress = yield* addressAt(depositIndex)
        const start = yield* baselineOf(contractAddress, depositAddress)
        const opened: OpenedPayment = {
          providerPaymentId: `bsc:${depositAddress}`,
          instructions: {
            _tag: "Bep20",
            network: "bsc",
            chainId: CHAIN_ID,
            tokenKind,
            contractAddress,
            expectedRaw,
            depositAddress
          },
          expiresAt: new Date(createdAt.getTime() + settings.expiryMinutes * MINUTE_MILLIS),
          state: Schema.encodeSync(DepositState)({ depositIndex, ...start })
        }
        return opened
      })

    const refresh = (opened: OpenedPayment) =>
      Effect.gen(function* () {
        yield* usableNodes
        const deposit = ofOpened(opened)
        if (Option.isNone(deposit))
          return yield* unavailable("rejected", "the stored payment belongs to another provider or cannot be read")
        return yield* reader.read(deposit.value)
      })

    const depositsAt = (index: number) =>
      Effect.gen(function* () {
        const address = yield* addressAt(index)
        const found = yield* Effect.forEach(TOKEN_KINDS, (tokenKind) =>
          Effect.map(balanceAt(TOKEN_CONTRACTS[tokenKind], address), ({ balance }) => ({
            index,
            address,
            tokenKind,
            receivedRaw: TokenRaw(balance)
          }))
        )
        return found.filter(({ receivedRaw }) => receivedRaw > 0n)
      })

    const deposits = ({ first, last }: DepositIndexRange) =>
      Effect.andThen(
        usableNodes,
        Effect.map(
          Effect.forEach(Arr.range(first, last), (index) => withinLimit(depositsAt(index)), {
            concurrency: MAX_CONCURRENT_READS
          }),
          (found) => found.flat()
        )
      )

    return {
      label,
      name: NAME,
      simulated: settings.atSimulator,
      method: "crypto_bep20",
      needsDepositIndex: true,
      probe: withinLimit(probe),
      open: (intent) => withinLimit(open(intent)),
      refresh: (_intent, opened) => withinLimit(refresh(opened)),
      cancel: undefined,
      webhook: undefined,
      deposits
    }
  })
