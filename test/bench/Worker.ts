/**
 * The processes of a benchmark: each on the CPU it belongs to, spoken to by messages.
 *
 * What is measured has CPU 0 to itself; everything that only serves the measurement shares CPU 1.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { availableParallelism } from "node:os"
import { join } from "node:path"

export const MEASURED_CPU = 0
export const SERVING_CPU = 1

export const canPin = availableParallelism() > 1 && spawnSync("taskset", ["-V"]).status === 0

/** The command that runs this one on one CPU. */
export const pinned = (cpu: number, command: string, args: ReadonlyArray<string>): [string, Array<string>] =>
  canPin ? ["taskset", ["-c", String(cpu), command, ...args]] : [command, [...args]]

export interface Worker {
  readonly pid: number
  /** Sends a message and waits for the answer. */
  readonly ask: <Answer>(message: unknown) => Promise<Answer>
  readonly stop: () => Promise<void>
}

/** Starts a file of this folder; it says `{ ready }` when it is. */
export const startWorker = async <Ready>(
  file: string,
  cpu: number,
  args: ReadonlyArray<string> = []
): Promise<Worker & { readonly ready: Ready }> => {
  const [command, commandArgs] = pinned(cpu, process.execPath, [
    ...process.execArgv,
    join(import.meta.dirname, file),
    ...args
  ])
  const child = spawn(command, commandArgs, { stdio: ["ignore", "inherit", "inherit", "ipc"] })
  const nextMessage = <A>() =>
    new Promise<A>((resolve, reject) => {
      const onExit = () => reject(new Error(`${file} ended`))
      child.once("exit", onExit)
      child.once("message", (message) => {
        child.off("exit", onExit)
        resolve(message as A)
      })
    })
  const { ready } = await nextMessage<{ ready: Ready }>()
  return {
    ready,
    pid: child.pid ?? 0,
    ask: (message) => {
      const answer = nextMessage<never>()
      child.send(message as object)
      return answer
    },
    stop: () => stop(child)
  }
}

/** Asks a process to end, and makes it end. */
export const stop = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, "exit")
  child.kill("SIGTERM")
  const insist = setTimeout(() => child.kill("SIGKILL"), 8_000)
  await ended
  clearTimeout(insist)
}
