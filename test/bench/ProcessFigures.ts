/**
 * What the kernel says of a process: the CPU it has used and the memory it holds.
 */
import { readFileSync } from "node:fs"

/** The kernel counts in ticks of a hundredth of a second on every Linux that Node runs on. */
const MICROS_PER_TICK = 10_000

/** Microseconds of CPU, in user and kernel mode, all threads. */
export const cpuMicros = (pids: ReadonlyArray<number>): number =>
  pids.reduce((sum, pid) => {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1")
    // The name before the last bracket may contain anything.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    return sum + (Number(fields[11]) + Number(fields[12])) * MICROS_PER_TICK
  }, 0)

/** KiB of resident memory. */
export const residentKib = (pids: ReadonlyArray<number>): number =>
  pids.reduce(
    (sum, pid) => sum + Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]),
    0
  )

/** The processes a process started, at any depth, itself included. */
export const family = (pid: number): ReadonlyArray<number> => {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").split(" ").filter(Boolean).map(Number)
  return [pid, ...children.flatMap(family)]
}
