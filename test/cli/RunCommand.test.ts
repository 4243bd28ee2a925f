import { Command } from "@effect/cli"
import { describe, expect, it } from "@effect/vitest"
import { Effect, HashMap } from "effect"
import { tollgate as tollgateCommand } from "../../apps/cli/src/Tollgate.ts"
import { documentOf, tollgate, useDatabase } from "./CommandLine.ts"

describe("the command line", () => {
  // No server listens on this port: these tests need no database.
  useDatabase("postgres://unused@127.0.0.1:1/nowhere")

  it.live("lists all commands if it is empty or --help", () =>
    Effect.gen(function* () {
      const all = yield* tollgate()
      expect(all).toMatchObject({ code: 0, stderr: "" })
      for (const name of HashMap.keys(Command.getSubcommands(tollgateCommand))) {
        expect(all.stdout).toMatch(new RegExp(`^  ${name}( |$)`, "m"))
      }
      for (const command of [
        ..."migrate|audit|doctor|catalog apply FILE|catalog show|users create EMAIL|users show EMAIL".split("|"),
        ..."keys create --user EMAIL --name NAME|keys list [--user EMAIL] [--reseller X]|keys revoke KEY_ID|holds list".split(
          "|"
        ),
        "payg credit --user EMAIL --usd-micro N --operation-id ID --reason TEXT",
        "holds sweep"
      ]) {
        expect(all.stdout).toContain(`\n  ${command}`)
      }
      expect((yield* tollgate("--help")).stdout).toBe(all.stdout)
      expect(all.stdout).toMatch(/^ {2}console list {2,}List the sessions/m)
      expect(all.stdout).toMatch(/^ {2}console revoke \[SESSION_ID\] \[--all\] \[--reason TEXT\]$/m)
      const group = yield* tollgate("keys", "--help")
      expect(group.stdout).toMatch(/^Usage: tollgate keys COMMAND\n/)
      const one = yield* tollgate("keys", "revoke", "some-id", "-h")
      expect(one.stdout).toMatch(/^Usage: tollgate keys revoke KEY_ID \[--reason TEXT\] \[--yes\] \[--json\]\n/)
      expect(one.stdout).toContain("  KEY_ID  The key's id")
    })
  )

  it.live("prints help in at most 100 columns", () =>
    Effect.gen(function* () {
      for (const words of [[], ["payg", "credit"], ["keys", "create"], ["catalog"]]) {
        const { stdout } = yield* tollgate(...words, "--help")
        for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(100)
        expect(stdout).not.toMatch(/wizard|completions|log-level|user-defined/)
        expect(stdout).not.toContain("\u001b")
      }
    })
  )

  it.live("prints the version for --version", () =>
    Effect.gen(function* () {
      expect((yield* tollgate("--version")).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
    })
  )

  it.live("exits with 2 and a hint on wrong usage", () =>
    Effect.gen(function* () {
      const hints: ReadonlyArray<readonly [line: string, hint: string]> = [
        ["frobnicate", "See: tollgate --help"],
        ["keys", "needs a subcommand: create, limits, list, revoke"],
        ["keys frobnicate", "The command line names no subcommand of tollgate keys. See: tollgate keys --help"],
        ["usage --user ada@example.com", "no subcommand of tollgate usage. See: tollgate usage --help"],
        ["images review frobnicate", "no subcommand of tollgate images. See: tollgate images --help"],
        ["users show ada@example.com --loud", "--loud"],
        ["users show ada@example.com bob@example.com", "bob@example.com"],
        ["users show", "email"],
        ["keys list --user", "--user"],
        ["keys list --usr ada@example.com", "See: tollgate keys --help"],
        [
          "payg credit --user a@b.co --usd-micro 1 --usd-micro 2 --operation-id x --reason y",
          "See: tollgate payg --help"
        ],
        [
          "payg credit --user a@b.co --usd-micro= --operation-id x --reason y",
          "The option --usd-micro has no value. See: tollgate payg --help"
        ],
        ["--wizard", "There is no option --wizard"],
        ["users --completions=bash", "There is no option --completions"]
      ]
      for (const [line, hint] of hints) {
        const printed = yield* tollgate(...line.split(" "))
        expect(printed, line).toMatchObject({ code: 2, stdout: "" })
        expect(printed.stderr, line).toContain(hint)
        expect(printed.stderr, line).not.toContain("\u001b")
        if (line !== "frobnicate") expect(printed.stderr, line).not.toContain("Invalid subcommand for tollgate")
        const asDocument = yield* tollgate(...line.split(" "), "--json")
        expect(asDocument.code, line).toBe(2)
        expect(documentOf(asDocument), line).toMatchObject({
          error: { code: "usage", message: expect.stringMatching(/./) }
        })
      }
    })
  )

  it.live("names the environment variables with unusable values", () =>
    Effect.gen(function* () {
      const unusable = { PORT: "http", NODE_ENV: "prod", KEY_PEPPER: "hunter2", KEY_PREFIX: "T G" }
      const original = { ...process.env }
      Object.assign(process.env, unusable)
      const printed = yield* tollgate("audit")
      for (const name of Object.keys(unusable)) delete process.env[name]
      Object.assign(process.env, original)
      expect(printed).toMatchObject({ code: 1, stdout: "" })
      expect(printed.stderr.match(/^ {2}[A-Z_]+:/gm)).toEqual([
        "  NODE_ENV:",
        "  PORT:",
        "  KEY_PEPPER:",
        "  KEY_PREFIX:"
      ])
      expect(printed.stderr).not.toContain("hunter2")
    })
  )

  it.live("reads a word after an option without a value as an argument", () =>
    Effect.gen(function* () {
      for (const word of ["y", "1", "true", "no", "0"]) {
        for (const args of [
          ["--json", word],
          [word, "--json"]
        ]) {
          const shown = yield* tollgate("users", "show", ...args)
          expect(shown.code).toBe(2)
          expect(documentOf(shown), args.join(" ")).toMatchObject({
            error: { code: "usage", message: expect.stringContaining("email: expected") }
          })
        }
        const applied = yield* tollgate("catalog", "apply", "--dry-run", word, "--json")
        // The command was parsed, because it failed only at the database.
        expect(documentOf(applied)).toMatchObject({ error: { code: "database_unreachable" } })
        const audited = yield* tollgate("audit", "--json", word)
        expect(audited.code).toBe(2)
        expect(documentOf(audited)).toMatchObject({ error: { message: expect.stringContaining(`'${word}'`) } })
      }
    })
  )

  it.live("reads a word like --json after an option with a value as this value", () =>
    Effect.gen(function* () {
      const printed = yield* tollgate("users", "create", "a@b.co", "--reason", "--yes", "y")
      expect(printed.code).toBe(2)
      expect(printed.stderr).toContain("'y'")
    })
  )

  it.live("accepts options before and after its arguments", () =>
    Effect.gen(function* () {
      for (const line of ["--json ada@example.com", "ada@example.com --json", "ada@example.com --json=true"]) {
        // The command was parsed, because it failed only at the database.
        expect(documentOf(yield* tollgate("users", "show", ...line.split(" ")))).toMatchObject({
          error: { code: "database_unreachable" }
        })
      }
    })
  )
})
