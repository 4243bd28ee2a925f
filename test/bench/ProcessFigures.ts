/** Reads the CPU time and the memory of processes, as the Linux kernel reports them. */
import { readdirSync, readFileSync } from "node:fs"

/** The kernel counts in ticks of 10 ms on every Linux that Node.js supports. */
const MICROS_PER_TICK = 10_000

/**
 * Returns the CPU time in microseconds, in user and kernel mode, of all threads that are still running. The scheduler's
 * nanoseconds are used because the ticks of /proc/PID/stat are too coarse for a round of one second.
 */
export const cpuMicros = (pids: ReadonlyArray<number>): number =>
  pids
    .flatMap((pid) => readdirSync(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}/schedstat`))
    .reduce((sum, file) => sum + Number(readFileSync(file, "latin1").split(" ")[0]) / 1_000, 0)

/** Returns the time in microseconds in which a CPU ran any process, or was used by the host of this virtual machine. */
export const busyMicros = (cpu: number): number => {
  const line = new RegExp(`^cpu${cpu} (.*)$`, "m").exec(readFileSync("/proc/stat", "latin1"))?.[1] ?? ""
  const [user = 0, nice = 0, system = 0, , , , , stolen = 0] = line.split(" ").map(Number)
  return (user + nice + system + stolen) * MICROS_PER_TICK
}

/** Returns the resident memory of the processes in KiB. */
export const residentKib = (pids: ReadonlyArray<number>): number =>
  pids.reduce(
    (sum, pid) => sum + Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]),
    0
  )

/** Returns the ids of the process and of all its descendants. */
export const family = (pid: number): ReadonlyArray<number> => {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").split(" ").filter(Boolean).map(Number)
  return [pid, ...children.flatMap(family)]
}
