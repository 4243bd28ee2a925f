/**
 * The CPU time and the memory of a process, as the kernel reports them.
 */
import { readFileSync } from "node:fs"

/** The kernel counts in ticks of 10 ms on every Linux that Node supports. */
const MICROS_PER_TICK = 10_000

/** Microseconds of CPU, in user and kernel mode, all threads. */
export const cpuMicros = (pids: ReadonlyArray<number>): number =>
  pids.reduce((sum, pid) => {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1")
    // The process name, which ends at the last bracket, may contain spaces and brackets.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    return sum + (Number(fields[11]) + Number(fields[12])) * MICROS_PER_TICK
  }, 0)

/** Microseconds that one CPU worked for any process, or that the host took from it. */
export const busyMicros = (cpu: number): number => {
  const line = new RegExp(`^cpu${cpu} (.*)$`, "m").exec(readFileSync("/proc/stat", "latin1"))?.[1] ?? ""
  const [user = 0, nice = 0, system = 0, , , , , stolen = 0] = line.split(" ").map(Number)
  return (user + nice + system + stolen) * MICROS_PER_TICK
}

/** KiB of resident memory. */
export const residentKib = (pids: ReadonlyArray<number>): number =>
  pids.reduce(
    (sum, pid) => sum + Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]),
    0
  )

/** The process and all its descendants. */
export const family = (pid: number): ReadonlyArray<number> => {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").split(" ").filter(Boolean).map(Number)
  return [pid, ...children.flatMap(family)]
}
