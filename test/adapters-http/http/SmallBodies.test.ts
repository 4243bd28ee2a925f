import { once } from "node:events"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import * as SmallBodies from "@tollgate/adapters-http/http/SmallBodies"
import { Overloaded, RequestTooLarge } from "@tollgate/domain/inference/InferenceErrors"
import type { ClientAddress } from "@tollgate/domain/reseller/AttemptLimit"
import { Effect, Either, Fiber } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { RawClient } from "../../support/RawClient.ts"

const KIB = 1024
const server = createServer()
const open: Array<RawClient> = []
afterEach(() => {
  for (const client of open.splice(0)) client.leave()
})

/** The client announces this number of bytes, or sends chunks if `announced` is undefined. */
const requestOf = async (
  announced: number | undefined,
  name = "one"
): Promise<{ client: RawClient; request: IncomingMessage }> => {
  if (!server.listening) {
    server.listen(0, "127.0.0.1").unref()
    await once(server, "listening")
  }
  const client = await RawClient.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  open.push(client)
  const length = announced === undefined ? ["transfer-encoding", "chunked"] : ["content-length", String(announced)]
  client.head("POST", "/", [length as [string, string], ["x-client", name]])
  const [request] = (await once(server, "request")) as [IncomingMessage]
  return { client, request }
}

const nameOf = ({ headers }: IncomingMessage) => `${headers["x-client"] ?? "one"}` as ClientAddress

const chunk = (bytes: number): string => `${bytes.toString(16)}\r\n${"x".repeat(bytes)}\r\n`
const read = (bodies: typeof SmallBodies.SmallBodies.Service, request: IncomingMessage) =>
  Effect.runPromise(Effect.either(bodies.read(request)))

const tooLarge = Either.left(new RequestTooLarge({ limitBytes: 64 * KIB }))

describe("a body", () => {
  it("is read completely if it arrives in several chunks", async () => {
    const { client, request } = await requestOf(undefined)
    const reading = read(SmallBodies.make(nameOf), request)
    client.say(chunk(3))
    await once(request, "data")
    client.say(`${chunk(64 * KIB - 3)}0\r\n\r\n`)
    expect(Either.map(await reading, (body) => body.toString())).toEqual(Either.right("x".repeat(64 * KIB)))
  })

  it("is refused before it is read if its announced length exceeds the limit", async () => {
    const { request } = await requestOf(64 * KIB + 1)
    expect(await read(SmallBodies.make(nameOf), request)).toEqual(tooLarge)
  })

  it("without an announced length is refused above the limit", async () => {
    const bodies = SmallBodies.make(nameOf)
    const { client, request } = await requestOf(undefined)
    const reading = read(bodies, request)
    client.say(chunk(64 * KIB))
    client.say(chunk(1))
    expect(await reading).toEqual(tooLarge)
    client.say(`${chunk(64 * KIB)}0\r\n\r\n`)
    await once(request, "end")
  })

  it("is refused if its client would use more than half of the memory", async () => {
    const bodies = SmallBodies.make(nameOf, 20 * KIB)
    const slow = await requestOf(undefined)
    const reading = Effect.runFork(bodies.read(slow.request))
    slow.client.say(chunk(8 * KIB))
    await once(slow.request, "data")
    const send = async (name: string) => {
      const { client, request } = await requestOf(4 * KIB, name)
      const result = read(bodies, request)
      client.say("x".repeat(4 * KIB))
      return Either.map(await result, ({ length }) => length)
    }
    expect(await send("one")).toEqual(Either.left(new Overloaded({ retryAfterSeconds: 1 })))
    expect(await send("another")).toEqual(Either.right(4 * KIB))
    await Effect.runPromise(Fiber.interrupt(reading))
    expect(await send("one")).toEqual(Either.right(4 * KIB))
    expect(await send("one")).toEqual(Either.right(4 * KIB))
  })
})
