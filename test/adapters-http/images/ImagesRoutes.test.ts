import type { Catalog } from "@tollgate/domain/catalog/Catalog"
import type { Provider } from "@tollgate/domain/catalog/Provider"
import { IdempotencyKeyReused, ImageConcurrencyLimit } from "@tollgate/domain/images/ImageErrors"
import { Overloaded, UpstreamFailed } from "@tollgate/domain/inference/InferenceErrors"
import { InsufficientBalance } from "@tollgate/domain/ledger/Hold"
import { Effect } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { FakeUpstreams } from "../inference/relay/FakeUpstreams.ts"
import { RawClient } from "../inference/relay/RawClient.ts"
import {
  aModel,
  catalogOf,
  closeGateways,
  eventually,
  KEY,
  nothingLeft,
  startGateway,
  type TestGateway,
  type TestGatewayOptions
} from "../inference/relay/TestGateway.ts"
import { aForm, aPng, aWebp, BOUNDARY, image, model, type Part, prompt } from "./Pictures.ts"
import { RememberedImages } from "./RememberedImages.ts"

const MIB = 1024 * 1024
const PICTURE = Buffer.from("a picture, more or less").toString("base64")
const answer = { created: 5, data: [{ b64_json: PICTURE }], usage: { input_tokens: 9, output_tokens: 272 } }
const ask = { model: "painter", prompt: "a cat" }

/** `painter` makes and changes, `printer` makes only, `m` talks. */
const gallery = (...providers: ReadonlyArray<Partial<Provider>>): Catalog => {
  const talking = catalogOf(...providers.map((parts) => ({ protocols: ["chat", "images"] as const, ...parts })))
  const routes = talking.models.get("m")?.routes ?? []
  const painter = aModel({ publicName: "painter", kind: "image", capabilities: ["generate", "edit"], routes })
  const printer = aModel({ publicName: "printer", kind: "image", capabilities: ["generate"], routes })
  const hidden = aModel({ publicName: "hidden", kind: "image", capabilities: ["generate"], routes, hidden: true })
  const models = [painter, printer, hidden].map((each) => [each.publicName, each] as const)
  return { ...talking, models: new Map([...talking.models, ...models]) }
}

let upstreams: FakeUpstreams
let images: RememberedImages
let gateway: TestGateway
const start = async (parts: Partial<TestGatewayOptions> = {}) => {
  gateway = await startGateway({ catalog: gallery({}), upstreams: upstreams.layer, images, ...parts })
}
beforeEach(async () => {
  upstreams = new FakeUpstreams()
  images = new RememberedImages()
  await start()
})
afterEach(async () => {
  expect(await closeGateways()).toEqual(nothingLeft())
})

type Headers = Record<string, string>

const generate = (body: unknown = ask, headers: Headers = {}) =>
  fetch(`${gateway.url}/v1/images/generations`, {
    method: "POST",
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body)
  })

const edit = (parts: ReadonlyArray<Part> = [model, prompt, image()], headers: Headers = {}) =>
  fetch(`${gateway.url}/v1/images/edits`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${KEY}`,
      "content-type": `multipart/form-data; boundary=${BOUNDARY}`,
      ...headers
    },
    body: new Uint8Array(aForm(...parts))
  })

/** `400 invalid_request size`: status, code and member at fault, in the body that every client reads. */
const refusal = async (answering: Promise<Response>): Promise<string> => {
  const response = await answering
  const { type, error, request_id } = (await response.json()) as {
    readonly type: string
    readonly error: { readonly code: string; readonly param: string | null; readonly details: { error_code: string } }
    readonly request_id: string
  }
  expect([type, error.details.error_code, request_id]).toEqual([
    "error",
    error.code,
    response.headers.get("x-request-id")
  ])
  return `${response.status} ${error.code}${error.param === null ? "" : ` ${error.param}`}`
}

const answering = async (status: number, body: unknown, contentType = "application/json") => {
  const exchange = await upstreams.next()
  exchange.head(status, contentType).data(typeof body === "string" ? body : JSON.stringify(body))
  exchange.end()
  return exchange
}

const raw = (path: string, headers: ReadonlyArray<string>) =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEY}\r\n${headers.join("\r\n")}\r\n\r\n`

describe("a generation", () => {
  it("is asked for under the supplier's name of the model, with the members that are supported and no others", async () => {
    const going = generate({
      ...ask,
      n: 1,
      size: "1024x1024",
      stream: false,
      response_format: "b64_json",
      quality: null
    })
    const { request, verdict } = await answering(200, answer)
    await going
    expect(request).toMatchObject({
      path: "/images/generations",
      headers: { "content-type": "application/json", accept: "application/json" }
    })
    expect(JSON.parse(Buffer.from(request.body).toString())).toEqual({
      model: "m-0",
      prompt: "a cat",
      n: 1,
      size: "1024x1024"
    })
    expect(verdict).toBe("served")
  })

  it("answers with the picture, settled, and headers that are ours", async () => {
    const going = generate()
    await answering(200, { ...answer, provider: "secret", data: [{ b64_json: PICTURE, revised_prompt: "SECRET" }] })
    const response = await going
    expect(await response.json()).toEqual({
      created: expect.any(Number),
      data: [{ b64_json: PICTURE }],
      usage: { input_tokens: 9, output_tokens: 272, total_tokens: 281 }
    })
    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-tollgate-billing": "settled",
      "x-request-id": images.finished[0]?.requestId
    })
    expect(images.finished).toMatchObject([{ state: "settled", charge: { charged: { input: 9n, output: 272n } } }])
  })

  it("is unmetered where the supplier reports no usage, and the header has the name of the service", async () => {
    await start({ imageSettings: { serviceName: "acme" } })
    const going = generate()
    await answering(200, { data: [{ b64_json: PICTURE }] })
    const response = await going
    expect([response.status, response.headers.get("x-acme-billing")]).toEqual([200, "unmetered"])
    expect(await response.json()).not.toHaveProperty("usage")
  })

  it("is refused with the row of the table that is at fault", async () => {
    expect(await refusal(generate({ ...ask, size: "5000x1" }))).toBe("400 invalid_request size")
    expect(await refusal(generate({ ...ask, response_format: "url" }))).toBe(
      "400 unsupported_parameter response_format"
    )
    expect(await refusal(generate({ ...ask, user: "x" }))).toBe("400 unsupported_parameter user")
    expect(await refusal(generate('{"model":"painter","prompt":"a","prompt":"b"}'))).toBe("400 invalid_request prompt")
    expect(await refusal(generate('{"model":"painter","\\u0070rompt":"a","prompt":"b"}'))).toBe(
      "400 invalid_request prompt"
    )
    for (const body of ["", "[]", "{", '"x"', `{"model":"painter","prompt":"a"} x`]) {
      expect(await refusal(generate(body))).toBe("400 invalid_request")
    }
    expect(await refusal(generate(ask, { "content-type": "multipart/form-data; boundary=x" }))).toBe(
      "400 invalid_request"
    )
    expect(await refusal(generate(ask, { "content-encoding": "gzip" }))).toBe("400 invalid_request")
    expect([upstreams.exchanges, images.begun]).toEqual([[], []])
  })

  it("needs a key, before anything else is looked at", async () => {
    expect(await refusal(generate("{", { authorization: "Bearer wrong" }))).toBe("401 invalid_api_key")
    expect(await refusal(generate("{", { "x-api-key": "other" }))).toBe("401 invalid_api_key")
    expect((await generate({ ...ask, n: 2 }, { authorization: "", "x-api-key": KEY })).status).toBe(400)
  })

  it("needs a model that is known, and that makes images", async () => {
    expect(await refusal(generate({ ...ask, model: "nobody" }))).toBe("404 model_not_found model")
    expect(await refusal(generate({ ...ask, model: "hidden" }))).toBe("404 model_not_found model")
    expect(await refusal(generate({ ...ask, model: "m" }))).toBe("400 unsupported_endpoint model")
    await start({ catalog: gallery({ protocols: ["chat"] }) })
    expect(await refusal(generate())).toBe("400 unsupported_endpoint model")
  })

  it("has a body of at most 256 KiB: over it 413 request_too_large, early, and the connection closes", async () => {
    const announced = await RawClient.connect(gateway.port)
    announced.send(
      raw("/v1/images/generations", ["content-type: application/json", `content-length: ${256 * 1024 + 1}`])
    )
    const early = await announced.response()
    expect([early.status, JSON.parse(early.body).error.code]).toEqual([413, "request_too_large"])
    expect(early.headers.get("connection")).toBe("close")
    announced.leave()

    const streamed = await RawClient.connect(gateway.port)
    streamed.send(raw("/v1/images/generations", ["transfer-encoding: chunked"]))
    streamed.send(`50000\r\n${"x".repeat(0x50000)}\r\n`)
    expect((await streamed.response()).status).toBe(413)
    streamed.send("0\r\n\r\n")
    await streamed.untilClosed()

    const fits = generate({ ...ask, prompt: "🦊".repeat(32_000) })
    await answering(200, answer)
    expect((await fits).status).toBe(200)
  })
})

describe("an Idempotency-Key", () => {
  it("is handed on as it was sent, or not at all", async () => {
    for (const [headers, key] of [
      [{ "idempotency-key": "order-17" }, "order-17"],
      [{}, undefined]
    ] as ReadonlyArray<[Headers, string | undefined]>) {
      const going = generate(ask, headers)
      await answering(200, answer)
      await going
      expect(images.begun.at(-1)?.idempotencyKey).toBe(key)
    }
  })

  it("is 1 to 255 visible ASCII characters, sent once", async () => {
    for (const key of ["", "a b", "a".repeat(256), "ü"]) {
      const going = refusal(generate(ask, { "idempotency-key": Buffer.from(key).toString("latin1") }))
      expect(await going).toBe("400 invalid_request Idempotency-Key")
    }
    const client = await RawClient.connect(gateway.port)
    const body = JSON.stringify(ask)
    const twice = ["Idempotency-Key: a", "idempotency-key: a", `content-length: ${body.length}`]
    const response = await client.send(raw("/v1/images/generations", twice) + body).response()
    expect([response.status, JSON.parse(response.body).error.param]).toEqual([400, "Idempotency-Key"])
    client.leave()
  })
})

describe("an edit", () => {
  it("is sent on as a new form: our names, the type its bytes have, and the supported members only", async () => {
    const parts = [
      image(aWebp(), "image[]"),
      prompt,
      { name: "n", value: "1" },
      { name: "stream", value: "false" },
      model
    ]
    const going = edit(parts)
    const { request } = await answering(200, answer)
    expect((await going).status).toBe(200)
    const type = request.headers["content-type"] ?? ""
    expect(type).not.toContain(BOUNDARY)
    const form = await new Response(Buffer.from(request.body), { headers: { "content-type": type } }).formData()
    expect([...form.keys()].sort()).toEqual(["image", "model", "n", "prompt"])
    expect([form.get("model"), form.get("prompt"), form.get("n")]).toEqual(["m-0", prompt.value, "1"])
    const file = form.get("image") as File
    expect([file.name, file.type]).toEqual(["image.webp", "image/webp"])
    expect(Buffer.from(await file.arrayBuffer()).equals(aWebp())).toBe(true)
    expect(request.path).toBe("/images/edits")
  })

  it("is refused where the form or the image is at fault", async () => {
    expect(await refusal(edit([model, prompt]))).toBe("400 invalid_request image")
    expect(await refusal(edit([model, prompt, image(), image()]))).toBe("400 invalid_request image")
    expect(await refusal(edit([model, prompt, image(Buffer.from("GIF89a"))]))).toBe("400 invalid_request image")
    expect(await refusal(edit([model, prompt, image(aPng(4_097, 1))]))).toBe("413 image_too_large image")
    expect(await refusal(edit([model, image()]))).toBe("400 invalid_request prompt")
    expect(await refusal(edit([prompt, image()]))).toBe("400 invalid_request model")
    expect(await refusal(edit([{ name: "mask", value: "x", filename: "m.png" }]))).toBe(
      "400 unsupported_parameter mask"
    )
    expect(await refusal(edit([model], { "content-type": "application/json" }))).toBe("400 invalid_request")
    expect(await refusal(edit([model], { "content-type": "multipart/form-data" }))).toBe("400 invalid_request")
    expect([upstreams.exchanges, images.begun]).toEqual([[], []])
  })

  it("with a model that only makes images is 400 unsupported_endpoint", async () => {
    const printer = { name: "model", value: "printer" }
    expect(await refusal(edit([printer, prompt, image()]))).toBe("400 unsupported_endpoint model")
    expect(await refusal(edit([image(), prompt, printer]))).toBe("400 unsupported_endpoint model")
    expect(await refusal(edit([{ name: "model", value: "nobody" }, image()]))).toBe("404 model_not_found model")
  })

  it("is told so before its file is uploaded, when the model comes first", async () => {
    const client = await RawClient.connect(gateway.port)
    const head = ["transfer-encoding: chunked", `content-type: multipart/form-data; boundary=${BOUNDARY}`]
    const begin = aForm({ name: "model", value: "printer" }, image(Buffer.alloc(5_000)))
      .subarray(0, 600)
      .toString()
    client.send(raw("/v1/images/edits", head)).send(`${begin.length.toString(16)}\r\n${begin}\r\n`)
    const response = await client.response()
    expect([response.status, JSON.parse(response.body).error.code]).toEqual([400, "unsupported_endpoint"])
    client.leave()
  })

  it("has a form of at most 12 MiB and a file of at most 10: over it 413 image_too_large, early", async () => {
    const client = await RawClient.connect(gateway.port)
    const head = [`content-type: multipart/form-data; boundary=${BOUNDARY}`, `content-length: ${12 * MIB + 1}`]
    const response = await client.send(raw("/v1/images/edits", head)).response()
    expect([response.status, JSON.parse(response.body).error.code]).toEqual([413, "image_too_large"])
    client.leave()
    expect(await refusal(edit([model, prompt, image(Buffer.alloc(10 * MIB + 1))]))).toBe("413 image_too_large image")
  })

  it("that is too large for the supplier is told as such", async () => {
    const going = edit()
    await answering(413, "too large")
    expect(await refusal(going)).toBe("413 image_too_large image")
    const generating = generate()
    await answering(413, "too large")
    expect(await refusal(generating)).toBe("413 request_too_large")
  })
})

describe("what is said before a supplier is asked", () => {
  it.each([
    [new IdempotencyKeyReused(), "409 idempotency_key_reused", { "x-should-retry": "false" }],
    [new ImageConcurrencyLimit({ retryAfterSeconds: 7 }), "429 image_concurrency_limit", { "retry-after": "7" }],
    [new InsufficientBalance(), "402 insufficient_balance", { "x-should-retry": "false" }],
    [new Overloaded({ retryAfterSeconds: 2 }), "503 overloaded", { "retry-after": "2" }]
  ])("%s", async (error, expected, headers) => {
    images.refusal = error
    const response = await generate()
    expect(Object.fromEntries(response.headers)).toMatchObject(headers)
    expect(await refusal(Promise.resolve(response))).toBe(expected)
    expect(upstreams.exchanges).toEqual([])
  })
})

describe("a supplier that makes no image", () => {
  const policy = {
    error: { code: "moderation_blocked", type: "image_generation_user_error", message: "No cats, please." }
  }

  it.each([
    [400, policy],
    [403, { error: { code: "content_policy_violation", message: "No cats, please." } }],
    [
      400,
      { error: { code: "bad", innererror: { code: "ResponsibleAIPolicyViolation" }, message: "No cats, please." } }
    ],
    [200, policy]
  ])("for its policy (%i) is told in its words: 400 content_policy_violation, not charged", async (status, body) => {
    const going = generate()
    const { verdict } = await answering(status, body)
    const response = await going
    expect(await response.clone().json()).toMatchObject({ error: { message: "No cats, please." } })
    expect(await refusal(Promise.resolve(response))).toBe("400 content_policy_violation")
    expect(images.finished).toMatchObject([{ state: "declined", charge: { charged: { output: 0n } } }])
    expect([verdict, gateway.logged]).toEqual(["served", []])
  })

  it("is not named in what it says", async () => {
    for (const message of ["supplier-0 declined", "See https://x.example", "m-0 may not draw cats"]) {
      const going = generate()
      await answering(400, { error: { code: "content_policy_violation", message } })
      expect(await (await going).text()).not.toMatch(/supplier-0|x\.example|m-0/)
    }
  })

  it.each([
    [400, { error: { message: "Invalid size for painter", param: "size" } }, "400 invalid_request size", "served"],
    [400, { error: { message: "Billing hard limit has been reached." } }, "502 upstream_error", "failed"],
    [401, { error: { message: "bad key" } }, "502 upstream_error", "misconfigured"],
    [403, { error: { message: "no access" } }, "502 upstream_error", "served"],
    [429, { error: { code: "rate_limit_exceeded" } }, "429 technical_limit", "served"],
    [500, "oops", "502 upstream_error", "failed"],
    [503, "", "502 upstream_error", "failed"],
    [200, { error: { message: "secret trouble" } }, "502 upstream_error", "failed"],
    [200, { error: { code: "rate_limit_exceeded" } }, "429 technical_limit", "served"],
    [200, "<html>", "502 upstream_error", "failed"],
    [200, { data: [{ url: "https://supplier.example/a.png" }] }, "502 upstream_error", "failed"],
    [200, { data: [{ b64_json: PICTURE }, { b64_json: PICTURE }] }, "502 upstream_error", "failed"],
    [200, { data: [{ b64_json: "????" }] }, "502 upstream_error", "failed"]
  ])("with %i %j is told as %s", async (status, body, expected, seen) => {
    const going = generate()
    const { verdict } = await answering(status, body)
    expect(await refusal(going)).toBe(expected)
    expect(verdict).toBe(seen)
    expect(images.finished).toMatchObject([{ state: "failed", dispatched: true }])
  })

  it("answers with something else than JSON: 502", async () => {
    for (const type of ["text/html", "text/event-stream", "image/png"]) {
      const going = generate()
      await answering(200, answer, type)
      expect(await refusal(going)).toBe("502 upstream_error")
    }
  })

  it("is cut: 502, and no other is asked for what may be billed", async () => {
    await start({ catalog: gallery({}, {}) })
    const going = generate()
    const exchange = await upstreams.next()
    exchange.head(200).data('{"data":[{"b64_json":"AAAA')
    exchange.events.onBroken("reset")
    expect(await refusal(going)).toBe("502 upstream_error")
    expect([exchange.verdict, upstreams.exchanges.length]).toEqual(["failed", 1])
    expect(gateway.logged.join()).toContain("reset")
  })

  it("makes one of more than 20 MiB: 502 image_too_large_output, not read to its end", async () => {
    const going = generate()
    const exchange = await upstreams.next()
    exchange.head(200).data('{"data":[{"b64_json":"')
    const piece = Buffer.alloc(MIB, "A")
    for (let sent = 0; sent < 30 && exchange.verdict === undefined; sent++) {
      exchange.events.onData(piece)
      await new Promise(setImmediate)
    }
    expect(await refusal(going)).toBe("502 image_too_large_output")
    expect([exchange.verdict, images.finished]).toMatchObject(["served", [{ state: "withheld" }]])
  })

  it("is not heard of within its time: 502", async () => {
    const timeouts = { firstByteMillis: 10, idleMillis: 60, totalMillis: 150 }
    await start({ catalog: gallery({ timeouts }, {}) })
    const silent = generate()
    const first = await upstreams.next()
    expect(await refusal(silent)).toBe("502 upstream_error")
    const stalled = generate()
    const second = await upstreams.next()
    second.head(200).data("{")
    expect(await refusal(stalled)).toBe("502 upstream_error")
    expect([first.verdict, second.verdict, upstreams.exchanges.length]).toEqual(["failed", "failed", 2])
    expect(gateway.logged.join()).toMatch(/not done within 150 ms.*silent for 60 ms/s)
  })
})

describe("another supplier", () => {
  it.each([
    ["fails", 500],
    ["limits", 429],
    ["does not know us", 401]
  ])("is asked when the first one %s", async (_, status) => {
    await start({ catalog: gallery({}, {}) })
    const going = generate()
    await answering(status, "")
    const { request } = await answering(200, answer)
    expect((await going).status).toBe(200)
    expect(JSON.parse(Buffer.from(request.body).toString()).model).toBe("m-1")
    expect(images.finished).toHaveLength(1)
  })

  it("is asked when the first one is off or full, and nobody is when all are", async () => {
    await start({ catalog: gallery({}, {}) })
    upstreams.refusals.push(new UpstreamFailed({ cause: "off" }))
    const going = edit()
    await answering(200, answer)
    expect((await going).status).toBe(200)
    upstreams.refusals.push(new Overloaded({ retryAfterSeconds: 3 }), new Overloaded({ retryAfterSeconds: 3 }))
    expect(await refusal(generate())).toBe("503 overloaded")
    expect(images.finished.at(-1)).toMatchObject({ dispatched: false })
    upstreams.refusals.push(new UpstreamFailed({ cause: "off" }), new UpstreamFailed({ cause: "off" }))
    expect(await refusal(generate())).toBe("502 upstream_error")
    expect(images.finished.at(-1)).toMatchObject({ dispatched: false })
  })
})

describe("a client that leaves", () => {
  const leaving = async () => {
    const client = await RawClient.connect(gateway.port)
    const body = JSON.stringify(ask)
    client.send(raw("/v1/images/generations", [`content-length: ${body.length}`]) + body)
    return { client, exchange: await upstreams.next() }
  }

  it("has its supplier stopped at once, and is charged nothing", async () => {
    const { client, exchange } = await leaving()
    client.leave()
    await eventually(() => exchange.verdict === "undecided", "the end of the exchange")
    await eventually(() => images.finished.length === 1, "the end of the request")
    expect(images.finished).toMatchObject([{ state: "abandoned", charge: { charged: { output: 0n } } }])
    await eventually(() => gateway.inFlight.count === 0, "the end of the program")
  })

  it("while its request is finished is charged nothing either", async () => {
    let finish = () => {}
    images.beforeFinishing = Effect.promise(() => new Promise<void>((resolve) => (finish = resolve)))
    const { client, exchange } = await leaving()
    exchange.head(200).data(JSON.stringify(answer))
    exchange.end()
    await eventually(() => exchange.verdict === "served", "the picture")
    client.leave()
    await eventually(() => gateway.inFlight.count === 1, "the end of the connection")
    finish()
    await eventually(() => images.finished.length === 1, "the end of the request")
    expect(images.finished).toMatchObject([{ state: "abandoned" }])
  })

  /** More than any socket takes at once. */
  const large = { ...answer, data: [{ b64_json: "A".repeat(20 * MIB) }] }
  const deaf = async () => {
    const { client, exchange } = await leaving()
    client.socket.pause()
    exchange.head(200).data(JSON.stringify(large))
    exchange.end()
    await eventually(() => images.finished.length === 1, "the settlement")
    return client
  }

  it("while the picture is on its way has had it: it is charged, and nothing stays behind", async () => {
    const client = await deaf()
    expect(gateway.counters.imageBytes).toBeGreaterThan(20 * MIB)
    client.leave()
    await eventually(() => gateway.inFlight.count === 0, "the end of the program")
    expect([gateway.counters.imageBytes, images.finished]).toMatchObject([0, [{ state: "settled" }]])
    expect(gateway.counters.finishedRequests).toMatchObject([{ status: 200, ending: "left" }])
  })

  it("without closing its connection, and takes nothing, is cut off", async () => {
    await start({ writeStallSeconds: 0.1 })
    const client = await deaf()
    await eventually(() => gateway.inFlight.count === 0, "the end of the program")
    expect(gateway.counters.imageBytes).toBe(0)
    client.leave()
  })

  it("in the middle of its upload leaves nothing behind", async () => {
    const client = await RawClient.connect(gateway.port)
    const head = [`content-type: multipart/form-data; boundary=${BOUNDARY}`, "content-length: 5000000"]
    client.send(raw("/v1/images/edits", head)).send(aForm(model, prompt, image()).subarray(0, 300))
    await eventually(() => gateway.counters.imageBytes === 300, "some of the form")
    client.leave()
    await eventually(() => gateway.inFlight.count === 0 && gateway.counters.imageBytes === 0, "the end of the request")
    expect(images.begun).toEqual([])
  })
})

describe("memory for images", () => {
  it("has a bound over all requests: beyond it 503 overloaded, and nobody is asked", async () => {
    await start({ imageSettings: { allImageBytes: 6 * MIB } })
    const first = generate()
    const exchange = await upstreams.next()
    expect(await refusal(generate())).toBe("503 overloaded")
    expect(images.finished).toMatchObject([{ state: "failed", dispatched: false }])
    expect(await refusal(edit([image(Buffer.alloc(5 * MIB)), model, prompt]))).toBe("503 overloaded")
    exchange.head(200).data(JSON.stringify(answer))
    exchange.end()
    expect((await first).status).toBe(200)
    await eventually(() => gateway.counters.imageBytes === 0, "no image in memory")
    const next = generate()
    await answering(200, answer)
    expect((await next).status).toBe(200)
  })

  it("that is not there for an answer is our failure to deliver: 502", async () => {
    await start({ imageSettings: { allImageBytes: 6 * MIB } })
    const going = generate()
    const exchange = await upstreams.next()
    exchange.head(200).data(`{"data":[{"b64_json":"${"A".repeat(7 * MIB)}`)
    expect(await refusal(going)).toBe("502 upstream_error")
    expect(exchange.verdict).toBe("undecided")
  })
})

describe("a fault of ours", () => {
  it("in the middle of a request is 500, told with its id, and the request is finished", async () => {
    images.beforeFinishing = Effect.dieMessage("broken")
    const going = generate()
    await answering(200, answer)
    expect(await refusal(going)).toBe("500 internal_error")
    expect(gateway.logged.join()).toContain("a request failed with a defect")
  })

  it("is no picture once the lease has passed: 502", async () => {
    images.lost = true
    const going = generate()
    await answering(200, answer)
    expect(await refusal(going)).toBe("502 upstream_error")
  })
})

describe("a server that stops", () => {
  it("tells whom it cannot wait for to come again", async () => {
    await start({ drainSeconds: 0 })
    const going = generate()
    const exchange = await upstreams.next()
    await gateway.close()
    expect(await refusal(going)).toBe("503 overloaded")
    expect(exchange.verdict).toBe("undecided")
  })
})

describe("what is counted", () => {
  it("is every image request, by how it ended", async () => {
    const going = generate()
    await answering(200, answer)
    await (await going).text()
    await refusal(generate({}))
    await eventually(() => gateway.counters.openRequests === 0, "the end of both")
    expect(gateway.counters.finishedRequests).toEqual([
      { protocol: "images", status: 200, ending: "complete", count: 1 },
      { protocol: "images", status: 400, ending: "refused", count: 1 }
    ])
  })
})
