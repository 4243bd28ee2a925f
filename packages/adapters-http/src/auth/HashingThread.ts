/**
 * A thread that computes one password hash at a time. On Linux the thread has a low priority.
 *
 * A hash occupies a processor core for 20 milliseconds or more. In the thread pool of Node.js it would compete with the
 * event loop on equal terms, so a flood of logins would delay chats. The priority of the thread pool is not lowered,
 * because the pool also reads files and resolves host names.
 */
import { createRequire } from "node:module"
import { Worker } from "node:worker_threads"
import type { Options } from "@node-rs/argon2"

/**
 * The nice value of the thread. If an event loop needs the same core, the event loop gets about nine tenths of the
 * core.
 */
const NICE = 10

/** The program of the thread, as a text, so that a bundled server needs no second file. */
const PROGRAM = `
const { parentPort, workerData } = require("node:worker_threads")
// On other systems, this call would change the priority of the whole process.
if (process.platform === "linux") require("node:os").setPriority(0, ${NICE})
const argon2 = require(workerData)
parentPort.on("message", ({ name, values }) => {
  try {
    parentPort.postMessage({ result: argon2[name](...values) })
  } catch (error) {
    parentPort.postMessage({ error: String(error) })
  }
})
`

type Reply = { readonly result: string | boolean } | { readonly error: string }

interface Pending {
  readonly resolve: (result: string | boolean) => void
  readonly reject: (error: Error) => void
}

export class HashingThread {
  #worker: Worker | undefined
  #pending: Pending | undefined

  /** Hashes a password, and returns a PHC string. A thread that is not running yet is started. */
  hash(password: string, options: Options): Promise<string> {
    return this.#run("hashSync", [password, options]) as Promise<string>
  }

  /** Returns whether the password matches this PHC string. */
  verify(hash: string, password: string): Promise<boolean> {
    return this.#run("verifySync", [hash, password]) as Promise<boolean>
  }

  /** Ends the thread. A hash that is being computed fails. */
  async close(): Promise<void> {
    await this.#worker?.terminate()
  }

  /** Must be called only after the promise of the previous call is settled. */
  #run(name: "hashSync" | "verifySync", values: ReadonlyArray<unknown>): Promise<string | boolean> {
    this.#worker ??= this.#start()
    const worker = this.#worker
    return new Promise<string | boolean>((resolve, reject) => {
      this.#pending = { resolve, reject }
      worker.ref()
      worker.postMessage({ name, values })
    })
  }

  #start(): Worker {
    const worker = new Worker(PROGRAM, {
      eval: true,
      workerData: createRequire(import.meta.url).resolve("@node-rs/argon2"),
      env: {},
      execArgv: []
    })
    // The thread does not keep the process alive while it waits.
    worker.unref()
    worker.on("message", (reply: Reply) => {
      worker.unref()
      const pending = this.#take()
      if ("result" in reply) pending?.resolve(reply.result)
      else pending?.reject(new Error(reply.error))
    })
    // After a failure or the end of the thread, the next hash starts a new thread.
    const fail = (error: Error) => {
      if (this.#worker !== worker) return
      this.#worker = undefined
      this.#take()?.reject(error)
    }
    worker.on("error", fail)
    worker.on("exit", () => fail(new Error("the hashing thread has ended")))
    return worker
  }

  #take(): Pending | undefined {
    const pending = this.#pending
    this.#pending = undefined
    return pending
  }
}
