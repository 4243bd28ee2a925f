/**
 * Runs a test chain that has a test contract at the real addresses of USDT and USDC.
 */
import { TOKEN_CONTRACTS } from "@tollgate/adapters-upstream/topup/bsc/BscTokens"
import type { TokenKind } from "@tollgate/domain/topup/PaymentMethod"
import { Anvil } from "../../../support/Anvil.ts"
import { mintInput, SIX_DECIMALS_CODE, TEST_TOKEN_CODE, transferInput } from "../../../support/TestToken.ts"

export class TestChain {
  readonly #anvil: Anvil
  readonly #payer: string

  static async start(): Promise<TestChain> {
    const anvil = await Anvil.start({ chainId: 56 })
    const [payer] = (await anvil.rpc("eth_accounts")) as ReadonlyArray<string>
    const chain = new TestChain(anvil, payer ?? "")
    await chain.restoreTokens()
    return chain
  }

  private constructor(anvil: Anvil, payer: string) {
    this.#anvil = anvil
    this.#payer = payer
  }

  get url(): string {
    return this.#anvil.url
  }

  /** Mints tokens of this kind at an address, in a block that is not yet final. Returns the transaction hash. */
  pay(kind: TokenKind, to: string, amountRaw: bigint): Promise<string> {
    return this.payIn(TOKEN_CONTRACTS[kind], to, amountRaw)
  }

  async payIn(contract: string, to: string, amountRaw: bigint): Promise<string> {
    return this.#send(this.#payer, contract, mintInput(to, amountRaw))
  }

  makeFinal(): Promise<void> {
    return this.#anvil.mine(2)
  }

  /** Transfers tokens from a deposit address, as an operator with the private key does. */
  async sweep(kind: TokenKind, from: string, amountRaw: bigint): Promise<void> {
    await this.#anvil.rpc("anvil_setBalance", [from, "0xde0b6b3a7640000"])
    await this.#anvil.rpc("anvil_impersonateAccount", [from])
    await this.#send(from, TOKEN_CONTRACTS[kind], transferInput(this.#payer, amountRaw))
  }

  /** Deploys a counterfeit token: the same test contract at another address. */
  async deployFake(): Promise<string> {
    const contract = "0x00000000000000000000000000000000000fa4e0"
    await this.#anvil.rpc("anvil_setCode", [contract, TEST_TOKEN_CODE])
    return contract
  }

  /** Takes a snapshot. Returns a function that reverts all later blocks. */
  async snapshot(): Promise<() => Promise<void>> {
    const id = await this.#anvil.rpc("evm_snapshot")
    return async () => {
      await this.#anvil.rpc("evm_revert", [id])
    }
  }

  /** Returns the time of the last final block. */
  time(): Promise<Date> {
    return this.#timeOfBlock("finalized")
  }

  async timeOf(transaction: string): Promise<Date> {
    const receipt = (await this.#anvil.rpc("eth_getTransactionReceipt", [transaction])) as { blockNumber: string }
    return this.#timeOfBlock(receipt.blockNumber)
  }

  async setChainId(id: number): Promise<void> {
    await this.#anvil.rpc("anvil_setChainId", [id])
  }

  async giveSixDecimals(kind: TokenKind): Promise<void> {
    await this.#anvil.rpc("anvil_setCode", [TOKEN_CONTRACTS[kind], SIX_DECIMALS_CODE])
    await this.#anvil.mine(3)
  }

  async restoreTokens(): Promise<void> {
    for (const contract of Object.values(TOKEN_CONTRACTS)) {
      await this.#anvil.rpc("anvil_setCode", [contract, TEST_TOKEN_CODE])
    }
    await this.#anvil.mine(3)
  }

  stop(): Promise<void> {
    return this.#anvil.stop()
  }

  async #timeOfBlock(block: string): Promise<Date> {
    const { timestamp } = (await this.#anvil.rpc("eth_getBlockByNumber", [block, false])) as { timestamp: string }
    return new Date(Number(timestamp) * 1_000)
  }

  async #send(from: string, to: string, input: string): Promise<string> {
    const transaction = (await this.#anvil.rpc("eth_sendTransaction", [{ from, to, input, gas: "0x186a0" }])) as string
    await this.#anvil.mine(1)
    const receipt = (await this.#anvil.rpc("eth_getTransactionReceipt", [transaction])) as { status: string }
    if (receipt.status !== "0x1") throw new Error("the transaction failed")
    return transaction
  }
}
