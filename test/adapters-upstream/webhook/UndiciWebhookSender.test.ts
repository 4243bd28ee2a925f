import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http"
import net, { type AddressInfo } from "node:net"
import { layer, type Resolve, type SenderOptions } from "@tollgate/adapters-upstream/webhook/UndiciWebhookSender"
import { signedHeaders } from "@tollgate/adapters-upstream/webhook/WebhookSignature"
import { WebhookSender } from "@tollgate/application/webhook/WebhookDeliveries"
import { Duration, Effect, Redacted } from "effect"
import { Webhook } from "standardwebhooks"
import { afterEach, describe, expect, it, vi } from "vitest"

const SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDb0/Z0TqgSSM="
const OTHER = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="
const BODY = '{"type":"webhook.test","timestamp":"2026-11-20T09:30:00.000Z","data":{}}'

/** A timeout that is longer than any delay on a busy machine. */
const LONG = Duration.minutes(1)

interface Received {
  readonly headers: IncomingMessage["headers"]
  readonly url: string | undefined
  readonly body: string
}

const servers: Array<Server> = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

const listening = async (respond: (response: ServerResponse) => void) => {
  const received: Array<Received> = []
  const listener: RequestListener = (request, response) => {
    let body = ""
    request.setEncoding("utf8").on("data", (text: string) => {
      body += text
    })
    request.on("end", () => {
      received.push({ headers: request.headers, url: request.url, body })
      respond(response)
    })
  }
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
  const { port } = server.address() as AddressInfo
  return { received, port, origin: `http://127.0.0.1:${port}` }
}

const send = (url: string, options: Partial<SenderOptions> = {}, secrets = [SECRET]) =>
  Effect.runPromise(
    Effect.flatMap(WebhookSender, (sender) =>
      sender.send({
        url,
        eventId: "019a9f0e-8888",
        body: BODY,
        secrets: secrets.map((secret) => Redacted.make(secret))
      })
    ).pipe(Effect.provide(layer({ privateOrigins: new Set([new URL(url).origin]), timeout: LONG, ...options })))
  )

describe("a webhook", () => {
  it("is verified by the Standard Webhooks library", async () => {
    const { received, origin } = await listening((response) => response.end())
    expect(await send(`${origin}/hooks?a=b`)).toEqual({ _tag: "Responded", status: 200 })
    const [{ body, headers, url } = { body: "", headers: {}, url: "" }] = received
    expect(url).toBe("/hooks?a=b")
    expect(headers["content-type"]).toBe("application/json")
    expect(headers["webhook-id"]).toBe("019a9f0e-8888")
    const signed = headers as Record<string, string>
    expect(new Webhook(SECRET).verify(body, signed)).toEqual(JSON.parse(BODY))
    expect(() => new Webhook(OTHER).verify(body, signed)).toThrow()
    expect(() => new Webhook(SECRET).verify(`${body} `, signed)).toThrow()
  })

  it("is verified with the new and the previous secret during a rotation", async () => {
    const { received, origin } = await listening((response) => response.end())
    await send(origin, {}, [OTHER, SECRET])
    for (const secret of [OTHER, SECRET]) {
      expect(new Webhook(secret).verify(BODY, received[0]?.headers as Record<string, string>)).toBeTruthy()
    }
  })

  it("has the signature that the library computes", () => {
    const at = new Date("2026-11-20T09:30:00.000Z")
    const unsigned = { id: "msg_1", timestampSeconds: at.getTime() / 1_000, body: BODY }
    expect(signedHeaders(unsigned, [Redacted.make(SECRET)])["webhook-signature"]).toBe(
      new Webhook(SECRET).sign("msg_1", at, BODY)
    )
  })

  it.each([204, 404, 500])("reports the status %i of the response", async (status) => {
    const { origin } = await listening((response) => response.writeHead(status).end("text"))
    expect(await send(origin)).toEqual({ _tag: "Responded", status })
  })

  it("does not follow a redirect with the status 307", async () => {
    const target = await listening((response) => response.end())
    const { origin } = await listening((response) => response.writeHead(307, { location: target.origin }).end())
    const privateOrigins = new Set([origin, target.origin])
    expect(await send(origin, { privateOrigins })).toEqual({ _tag: "Responded", status: 307 })
    expect(target.received).toEqual([])
  })

  it("stops reading a response that never ends", async () => {
    let written = 0
    const { origin } = await listening((response) => {
      response.writeHead(200)
      const write = () => {
        if (response.destroyed) return
        written += 65_536
        response.write(Buffer.alloc(65_536), write)
      }
      write()
    })
    expect(await send(origin)).toEqual({ _tag: "Responded", status: 200 })
    expect(written).toBeLessThan(64 * 1_048_576)
  })

  it("ends after the timeout if the endpoint does not respond", async () => {
    const { origin, received } = await listening(() => {})
    expect(await send(origin, { timeout: Duration.seconds(1) })).toEqual({ _tag: "NoResponse", reason: "timeout" })
    expect(received.length).toBeLessThanOrEqual(1)
  })

  it("destroys a socket that does not connect in time", async () => {
    const socket = new net.Socket()
    const connect = vi.spyOn(net, "connect").mockReturnValue(socket)
    try {
      const timeout = Duration.millis(200)
      expect(await send("http://127.0.0.1:9", { timeout })).toEqual({ _tag: "NoResponse", reason: "timeout" })
      expect(connect).toHaveBeenCalledTimes(1)
      await vi.waitFor(() => expect(socket.destroyed).toBe(true), { timeout: 3_000 })
    } finally {
      connect.mockRestore()
      socket.destroy()
    }
  })

  it("fails if the endpoint refuses the connection", async () => {
    const { origin } = await listening(() => {})
    for (const server of servers.splice(0)) await new Promise((done) => server.close(done))
    expect(await send(origin)).toEqual({ _tag: "NoResponse", reason: "connection_failed" })
  })

  it("is not sent to a port that is not allowed", async () => {
    const { port, received } = await listening(() => {})
    const result = await send(`https://hooks.example:${port}`, { privateOrigins: new Set(), resolve: async () => [] })
    expect(result).toEqual({ _tag: "NoResponse", reason: "target_refused" })
    expect(received).toEqual([])
  })

  it("fails if its host has no address", async () => {
    const privateOrigins = new Set<string>()
    const unknown = await send("https://hooks.example/", { privateOrigins, resolve: async () => [] })
    expect(unknown).toEqual({ _tag: "NoResponse", reason: "connection_failed" })
  })
})

describe("a webhook to a host name", () => {
  const privateOrigins = new Set<string>()

  it.each([
    ["a private address", ["10.0.0.1"]],
    ["a public and a private address", ["8.8.8.8", "127.0.0.1"]],
    ["an IPv4-mapped address", ["::ffff:127.0.0.1"]],
    ["the metadata service", ["169.254.169.254"]]
  ])("is not sent if the name has %s", async (_, addresses) => {
    const result = await send("https://hooks.example/", { privateOrigins, resolve: async () => addresses })
    expect(result).toEqual({ _tag: "NoResponse", reason: "target_refused" })
  })

  it("is sent to the address that a single lookup of its host returns", async () => {
    const { received, port } = await listening((response) => response.end())
    const resolved = [["127.0.0.1"], ["127.0.0.2"]]
    let lookups = 0
    const resolve: Resolve = async () => resolved[lookups++] ?? []
    const origin = `http://hooks.example:${port}`
    expect(await send(origin, { privateOrigins: new Set([origin]), resolve })).toEqual({
      _tag: "Responded",
      status: 200
    })
    expect(lookups).toBe(1)
    expect(received[0]?.headers.host).toBe(`hooks.example:${port}`)
  })

  it("is not sent to a private address in the URL", async () => {
    const { received, port } = await listening((response) => response.end())
    const result = await send(`http://127.0.0.1:${port}/`, { privateOrigins })
    expect(result).toEqual({ _tag: "NoResponse", reason: "target_refused" })
    expect(received).toEqual([])
  })
})
