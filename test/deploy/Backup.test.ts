/** Tests which times deploy/backup/restore.sh passes on to pgBackRest. */
import { execFile } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const RESTORE = resolve(import.meta.dirname, "../../deploy/backup/restore.sh")

let programs: string

/** Creates a program `pgbackrest` that prints its arguments, one per line. */
beforeAll(async () => {
  programs = await mkdtemp(join(tmpdir(), "tollgate-backup-"))
  await writeFile(join(programs, "pgbackrest"), `#!/bin/sh\nprintf '%s\\n' "$@"\n`, { mode: 0o755 })
})

afterAll(() => rm(programs, { recursive: true, force: true }))

const restore = (time: string) =>
  promisify(execFile)("/bin/sh", [RESTORE, time], { env: { PATH: `${programs}:${process.env.PATH}` } })

describe("a restore", () => {
  it.each([
    "2026-11-22 17:04:00+00",
    "2026-11-22 17:04:00.123+00",
    "2026-11-22 17:04:00+07:00",
    "2026-11-22 17:04:00+0700",
    "2026-11-22 17:04:00-03",
    "2026-11-22 17:04:00-03:30"
  ])("accepts the time %s", async (time) => {
    expect((await restore(time)).stdout.split("\n")).toContain(`--target=${time}`)
  })

  it.each([
    "2026-11-22",
    "2026-11-22 17:04:00",
    "2026-11-22 17:04+00",
    "2026-11-22T17:04:00+00",
    "2026-11-22 17:04:00Z",
    "2026-11-22 17:04:00 UTC",
    "yesterday+00"
  ])("refuses the time %s", async (time) => {
    await expect(restore(time)).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining("The time needs") })
  })
})
