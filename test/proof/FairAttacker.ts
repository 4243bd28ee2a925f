/**
 * Runs one attack at a time, in its own process. The process also runs an upstream that accepts every connection and
 * never responds.
 *
 * The messages are {@link AttackCommand}s. The process replies to `start` when the attack is running, and to `stop`
 * with the number of responses for each status since the start, and of requests that it could not send.
 */
import { once } from "node:events"
import { type AddressInfo, createServer } from "node:net"
import { constants, setPriority } from "node:os"
import { Attack, type AttackName, type Target } from "./FairAttacks.ts"

// A real attacker has its own machine. Here it gets the processor time that the server and the measured clients leave.
setPriority(constants.priority.PRIORITY_LOW)

export type AttackCommand =
  | { readonly command: "start"; readonly attack: AttackName; readonly target: Target }
  | { readonly command: "stop" }

const hanging = createServer((socket) => {
  socket.on("error", () => {})
  socket.resume()
})

let attack: Attack | undefined

process.on("message", (command: AttackCommand) => {
  if (command.command === "start") {
    attack = new Attack(command.target)
    attack.run(command.attack)
    setTimeout(() => process.send?.(command.attack), 1_500)
    return
  }
  attack?.stop()
  process.send?.(attack?.outcomes ?? {})
})
process.on("disconnect", () => process.exit())

hanging.listen(0, "127.0.0.1")
await once(hanging, "listening")
process.send?.({ ready: (hanging.address() as AddressInfo).port })
