/**
 * This program starts the embedded Postgres in a directory, or joins the Postgres that already runs there. Tests kill
 * the process of this program. The program prints "ready launched" or "ready joined". If Postgres exits, the program
 * prints "lost" with the error, and exits with code 1.
 *
 *     needPostgres <directory> wait    keeps running; exits with code 0 on SIGTERM
 *     needPostgres <directory> write   inserts numbers into a table and prints each number after its commit
 */
import { fromSocket } from "@tollgate/adapters-postgres/client/PgSettings"
import * as EmbeddedPostgres from "@tollgate/embedded-postgres/EmbeddedPostgres"
import { Effect, Fiber } from "effect"
import * as Pg from "pg"

const [, , directory = "", mode = "wait"] = process.argv
const say = (line: string) => process.stdout.write(`${line}\n`)

const write = async (socketDir: string) => {
  const client = new Pg.Client(fromSocket(socketDir))
  await client.connect()
  await client.query("CREATE TABLE IF NOT EXISTS written (n int PRIMARY KEY)")
  for (let n = 1; ; n++) {
    await client.query("INSERT INTO written VALUES ($1)", [n])
    say(String(n))
  }
}

const program = Effect.gen(function* () {
  const { joined, lost, socketDir } = yield* EmbeddedPostgres.start({ directory })
  process.on("SIGINT", () => say("interrupted"))
  say(`ready ${joined ? "joined" : "launched"}`)
  return yield* mode === "write" ? Effect.promise(() => write(socketDir)) : lost
})

const fiber = Effect.runFork(Effect.scoped(program))
process.on("SIGTERM", () => Effect.runPromise(Fiber.interrupt(fiber)).then(() => process.exit(0)))
Effect.runPromise(Fiber.join(fiber)).catch((error) => {
  say(`lost ${error}`)
  process.exit(1)
})
