/**
 * Reads the options of the programs that package.json starts, such as `npm run simulate`. A wrong option ends the
 * program with exit code 2 and one line that lists the valid options, before the program builds or starts anything.
 */
import { execFileSync } from "node:child_process"
import { existsSync } from "node:fs"
import { resolve } from "node:path"
import { parseArgs } from "node:util"

/** An option with a value. `read` returns undefined for a wrong value. */
export interface ValueOption<A> {
  readonly placeholder: string
  readonly wanted: string
  readonly read: (text: string) => A | undefined
}

/** `flag` is an option without a value. */
export type ProgramOptions = Readonly<Record<string, ValueOption<unknown> | "flag">>

export type OptionValues<O extends ProgramOptions> = {
  readonly [Name in keyof O]: O[Name] extends ValueOption<infer A> ? A | undefined : boolean
}

export interface ParsedProgram<O extends ProgramOptions> {
  readonly values: OptionValues<O>
  readonly positionals: ReadonlyArray<string>
}

export const text = (placeholder: string): ValueOption<string> => ({
  placeholder,
  wanted: "a value",
  read: (text) => (text === "" ? undefined : text)
})

export const path = (placeholder: string): ValueOption<string> => ({
  placeholder,
  wanted: "an existing path",
  read: (text) => (existsSync(text) ? text : undefined)
})

export const wholeNumber = (placeholder: string, least = 0): ValueOption<number> => ({
  placeholder,
  wanted: `a whole number of at least ${least}`,
  read: (text) => (/^\d{1,15}$/.test(text) && Number(text) >= least ? Number(text) : undefined)
})

export const positiveNumber = (placeholder: string): ValueOption<number> => ({
  placeholder,
  wanted: "a number above 0",
  read: (text) => (/^\d+(\.\d+)?$/.test(text) && Number(text) > 0 ? Number(text) : undefined)
})

export const someOf = <Name extends string>(names: ReadonlyArray<Name>): ValueOption<ReadonlyArray<Name>> => ({
  placeholder: "NAME,...",
  wanted: `some of ${names.join(",")}`,
  read: (text) => {
    const wanted = text.split(",")
    const known = names.filter((name) => wanted.includes(name))
    return known.length === wanted.length ? known : undefined
  }
})

const listed = (options: ProgramOptions, operands: string | undefined): string => {
  const names = Object.entries(options).map(([name, option]) =>
    option === "flag" ? `--${name}` : `--${name} ${option.placeholder}`
  )
  const all = operands === undefined ? names : [...names, operands]
  return all.length === 0 ? "There are no options." : `The options are: ${all.join(", ")}`
}

/**
 * Returns the options, or the line that refuses them. `operands` describes the arguments without a name, if allowed.
 */
export const parseProgram = <O extends ProgramOptions>(
  options: O,
  args: ReadonlyArray<string>,
  operands?: string
): ParsedProgram<O> | string => {
  try {
    const parsed = parseArgs({
      args: [...args],
      strict: true,
      allowPositionals: operands !== undefined,
      options: Object.fromEntries(
        Object.entries(options).map(([name, option]) => [name, { type: option === "flag" ? "boolean" : "string" }])
      )
    })
    const values: Record<string, unknown> = {}
    for (const [name, option] of Object.entries(options)) {
      const given = parsed.values[name]
      if (option === "flag") values[name] = given === true
      else if (typeof given === "string") {
        values[name] = option.read(given)
        if (values[name] === undefined) throw new Error(`--${name} needs ${option.wanted}`)
      }
    }
    return { values: values as OptionValues<O>, positionals: parsed.positionals }
  } catch (error) {
    const [sentence] = (error instanceof Error ? error.message : String(error)).split(/\.\s/)
    return `${sentence}. ${listed(options, operands)}`
  }
}

export const refuse = (line: string): never => {
  process.stderr.write(`${line}\n`)
  process.exit(2)
}

export const readProgram = <O extends ProgramOptions>(options: O, operands?: string): ParsedProgram<O> => {
  const parsed = parseProgram(options, process.argv.slice(2), operands)
  return typeof parsed === "string" ? refuse(parsed) : parsed
}

/** Builds the server and the command line of this checkout, which the program starts as processes. */
export const buildThisCheckout = (): void => {
  execFileSync("npm", ["run", "-s", "build"], { cwd: resolve(import.meta.dirname, "../.."), stdio: "inherit" })
}
