/**
 * Starts the processes of a benchmark. Each process runs one file, and receives requests from the benchmark as
 * messages.
 *
 * If a benchmark assigns CPUs, the measured processes run on CPU 0, and the other processes share CPU 1. On a machine
 * with one CPU, or without the program `taskset`, every process can run on any CPU.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { availableParallelism } from "node:os"
import { join } from "node:path"

export const MEASURED_CPU = 0
export const SERVING_CPU = 1

export const canPin = availableParallelism() > 1 && spawnSync("taskset", ["-V"]).status === 0

/** The command line that runs a command on one CPU, or on the CPUs of this process if `cpu` is undefined. */
export const pinned = (
  cpu: number | undefined,
  command: string,
  args: ReadonlyArray<string>
): [string, Array<string>] =>
  canPin && cpu !== undefined ? ["taskset", ["-c", String(cpu), command, ...args]] : [command, [...args]]

export interface BenchProcess {
  readonly pid: number
  /** Sends a message and waits for the result. Must not be called again before the result has arrived. */
  readonly request: <Result>(message: unknown) => Promise<Result>
  readonly stop: () => Promise<void>
}

/**
 * Runs a file, whose path is relative to this folder, as a process, and waits until the process reports with the
 * message `{ ready }`.
 */
export const startBenchProcess = async <Ready>(
  file: string,
  cpu: number | undefined,
  args: ReadonlyArray<string> = []
): Promise<BenchProcess & { readonly ready: Ready }> => {
  const [command, commandArgs] = pinned(cpu, process.execPath, [
    ...process.execArgv,
    join(import.meta.dirname, file),
    ...args
  ])
  const child = spawn(command, commandArgs, { stdio: ["ignore", "inherit", "inherit", "ipc"] })
  const nextMessage = <A>() =>
    new Promise<A>((resolve, reject) => {
      const onExit = () => reject(new Error(`${file} ended before it sent a message`))
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
    request: (message) => {
      const result = nextMessage<never>()
      child.send(message as object)
      return result
    },
    stop: () => stop(child)
  }
}

/** Sends SIGTERM to a process, and SIGKILL if it is still running after 8 s. Waits until the process has ended. */
export const stop = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, "exit")
  child.kill("SIGTERM")
  const insist = setTimeout(() => child.kill("SIGKILL"), 8_000)
  await ended
  clearTimeout(insist)
}
