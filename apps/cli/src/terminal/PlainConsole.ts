/**
 * The console without colours where nobody would see them: the command line library always paints its help.
 */
import { stripVTControlCharacters } from "node:util"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"

/** Colours only for a terminal, and not where NO_COLOR asks for none. */
const painted = (stream: NodeJS.WriteStream): boolean => stream.isTTY === true && !process.env.NO_COLOR

export const withPlainConsole = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Console.consoleWith((console) =>
    Effect.withConsole(effect, {
      ...console,
      log: (...args) => console.log(...(painted(process.stdout) ? args : args.map(strip))),
      error: (...args) => console.error(...(painted(process.stderr) ? args : args.map(strip)))
    })
  )

const strip = (value: unknown): unknown => (typeof value === "string" ? stripVTControlCharacters(value) : value)
