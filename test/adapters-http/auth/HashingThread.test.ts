import { readdirSync, readFileSync } from "node:fs"
import { HashingThread } from "@tollgate/adapters-http/auth/HashingThread"
import { afterEach, describe, expect, it } from "vitest"

const cheap = { memoryCost: 64, timeCost: 1, parallelism: 1 }

/** The nice values of the threads of this process (proc_pid_stat(5), field 19). */
const niceValues = (): ReadonlyArray<number> =>
  readdirSync("/proc/self/task").map((task) => {
    const stat = readFileSync(`/proc/self/task/${task}/stat`, "utf8")
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[16])
  })

describe("a hashing thread", () => {
  let thread = new HashingThread()
  afterEach(async () => {
    await thread.close()
    thread = new HashingThread()
  })

  it("verifies its own hashes", async () => {
    const hash = await thread.hash("correct horse battery", cheap)
    expect(await thread.verify(hash, "correct horse battery")).toBe(true)
    expect(await thread.verify(hash, "correct horse batterz")).toBe(false)
  })

  it("rejects a hash that is not a PHC string", async () => {
    await expect(thread.verify("garbage", "correct horse battery")).rejects.toThrow()
    expect(await thread.hash("correct horse battery", cheap)).toMatch(/^\$argon2/)
  })

  it.runIf(process.platform === "linux")("runs with the nice value 10", async () => {
    const low = () => niceValues().filter((nice) => nice === 10).length
    const before = low()
    await thread.hash("correct horse battery", cheap)
    expect(low()).toBeGreaterThan(before)
  })

  it("fails the running hash when the thread is closed", async () => {
    // After this hash, the thread runs.
    await thread.hash("correct horse battery", cheap)
    const slow = thread.hash("correct horse battery", { ...cheap, memoryCost: 65_536, timeCost: 20 })
    const failed = expect(slow).rejects.toThrow("the hashing thread has ended")
    await thread.close()
    await failed
    expect(await thread.hash("correct horse battery", cheap)).toMatch(/^\$argon2/)
  })
})
