/**
 * Runs a private EVM chain on this machine with Foundry's anvil. The binary of anvil comes from npm.
 *
 *     const anvil = await Anvil.start({ chainId: 56 })
 *     await anvil.rpc("anvil_mine", ["0x2"])
 *     await anvil.stop()
 *
 * A block is mined only when a test calls `mine` or `anvil_mine`. As on BNB Smart Chain, a block is final when two
 * blocks follow it.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { createRequire } from "node:module"

const PLATFORMS: Readonly<Record<string, string>> = { darwin: "darwin", linux: "linux", win32: "win32" }
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" }

const binary = (): string => {
  const platform = `${PLATFORMS[process.platform]}-${ARCHITECTURES[process.arch]}`
  const file = process.platform === "win32" ? "anvil.exe" : "anvil"
  return createRequire(import.meta.url).resolve(`@foundry-rs/anvil-${platform}/bin/${file}`)
}

export class Anvil {
  readonly url: string
  readonly #child: ChildProcess
  readonly #killWithUs: () => void

  /** Fails with the reason when this machine cannot run anvil. */
  static async start({ chainId }: { readonly chainId: number }): Promise<Anvil> {
    const options = ["--port", "0", "--accounts", "1", "--no-mining", "--slots-in-an-epoch", "1"]
    const child = spawn(binary(), [...options, "--chain-id", String(chainId)], { stdio: ["ignore", "pipe", "pipe"] })
    const url = await new Promise<string>((resolve, reject) => {
      let printed = ""
      const collect = (chunk: Buffer) => {
        printed += chunk.toString("utf8")
        const address = /Listening on (\S+)/.exec(printed)?.[1]
        if (address !== undefined) resolve(`http://${address}`)
      }
      child.stdout?.on("data", collect)
      child.stderr?.on("data", collect)
      child.once("error", reject)
      child.once("exit", (code) => reject(new Error(`anvil ended with ${code}: ${printed.slice(-300)}`)))
    })
    for (const stream of [child.stdout, child.stderr]) stream?.removeAllListeners("data").resume()
    return new Anvil(child, url)
  }

  private constructor(child: ChildProcess, url: string) {
    this.#child = child
    this.url = url
    this.#killWithUs = () => child.kill("SIGKILL")
    process.once("exit", this.#killWithUs)
  }

  async rpc(method: string, params: ReadonlyArray<unknown> = []): Promise<unknown> {
    const response = await fetch(this.url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })
    })
    const reply = (await response.json()) as { result?: unknown; error?: { message: string } }
    if (reply.error !== undefined) throw new Error(`${method}: ${reply.error.message}`)
    return reply.result
  }

  /** The first block contains the pending transactions. */
  async mine(blocks: number): Promise<void> {
    await this.rpc("anvil_mine", [`0x${blocks.toString(16)}`])
  }

  async stop(): Promise<void> {
    process.removeListener("exit", this.#killWithUs)
    const ended = new Promise((resolve) => this.#child.once("exit", resolve))
    this.#child.kill("SIGTERM")
    await ended
  }
}
