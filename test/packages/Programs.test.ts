/** Tests the options of the programs that package.json starts. */
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { describe, expect, it } from "vitest"
import { type ProgramOptions, parseProgram, path, positiveNumber, someOf, wholeNumber } from "../support/Program.ts"

const ROOT = resolve(import.meta.dirname, "../..")
const { scripts } = JSON.parse(readFileSync(resolve(ROOT, "package.json"), "utf8")) as {
  readonly scripts: Readonly<Record<string, string>>
}
/** The scripts that start a program of `test` directly, and their programs. */
const programs = Object.entries(scripts).flatMap(([name, command]) => {
  const program = /--import tsx (test\/\S+)/.exec(command)?.[1]
  return program === undefined ? [] : [{ name, command, program }]
})

const options = {
  seeds: wholeNumber("N", 1),
  minutes: positiveNumber("M"),
  only: someOf(["qris", "amounts"]),
  input: path("FILE"),
  keep: "flag"
} satisfies ProgramOptions
const LIST = "The options are: --seeds N, --minutes M, --only NAME,..., --input FILE, --keep"

describe("the options of a program", () => {
  it("are read from the arguments", () => {
    const args = ["--seeds", "7", "--minutes=0.5", "--only", "amounts,qris", "--keep"]
    expect(parseProgram(options, args)).toEqual({
      values: { seeds: 7, minutes: 0.5, only: ["qris", "amounts"], keep: true },
      positionals: []
    })
    expect(parseProgram(options, [])).toEqual({ values: { keep: false }, positionals: [] })
    expect(parseProgram({}, ["a", "b"], "[TEST...]")).toEqual({ values: {}, positionals: ["a", "b"] })
  })

  it.each([
    [["--histories", "100"], "Unknown option '--histories'"],
    [["100"], "Unexpected argument '100'"],
    [["--seeds"], "Option '--seeds <value>' argument missing"],
    [["--seeds", "--keep"], "Option '--seeds' argument is ambiguous"],
    [["--keep=1"], "Option '--keep' does not take an argument"],
    [["--seeds", "0"], "--seeds needs a whole number of at least 1"],
    [["--seeds", "1e3"], "--seeds needs a whole number of at least 1"],
    [["--minutes", "0"], "--minutes needs a number above 0"],
    [["--only", "qris,other"], "--only needs some of qris,amounts"],
    [["--input", "no/such/file"], "--input needs an existing path"]
  ])("are refused with the valid options if they are %j", (args, reason) => {
    expect(parseProgram(options, args)).toBe(`${reason}. ${LIST}`)
  })
})

describe("a program of package.json", () => {
  it("is found by its script", () => {
    expect(programs.map(({ name }) => name)).toEqual(expect.arrayContaining(["simulate", "fuzz", "bench", "proof"]))
  })

  it.each(programs)("$name reads its options", ({ command, program }) => {
    expect(command).not.toContain("build")
    expect(readFileSync(resolve(ROOT, program), "utf8")).toContain("readProgram(")
  })

  it.each(programs.filter(({ name }) => ["simulate", "proof", "restore-trial"].includes(name)))(
    "$name exits with 2 and one line after an unknown option",
    async ({ program }) => {
      const args = ["--conditions=source", "--import", "tsx", program, "--no-such-option"]
      const result = await new Promise<{ readonly code: unknown; readonly stdout: string; readonly stderr: string }>(
        (done) => {
          execFile(process.execPath, args, { cwd: ROOT, timeout: 60_000 }, (error, stdout, stderr) =>
            done({ code: error?.code, stdout, stderr })
          )
        }
      )
      const list = /^Unknown option '--no-such-option'\. (The options are: .+|There are no options\.)\n$/
      expect(result).toEqual({ code: 2, stdout: "", stderr: expect.stringMatching(list) })
    }
  )
})
