import { DatabaseUnavailable } from "@tollgate/application/operations/Database"
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
  noResources,
  OTHER_KEY,
  startGateway,
  type TestGateway,
  type TestGatewayOptions
} from "../inference/relay/TestGateway.ts"
import { FakeImageRequests } from "./FakeImageRequests.ts"
import { aForm, aPng, aWebp, BOUNDARY, image, model, type Part, prompt } from "./Pictures.ts"

const MIB = 1024 * 1024
const IMAGE = Buffer.from("not a real image").toString("base64")
const result = { created: 5, data: [{ b64_json: IMAGE }], usage: { input_tokens: 9, output_tokens: 272 } }
const aRequest = { model: "painter", prompt: "a cat" }

/** The model `painter` generates and edits images, `printer` and `hidden` generate images, and `m` is a text model. */
const imageCatalog = (...providers: ReadonlyArray<Partial<Provider>>): Catalog => {
  const textCatalog = catalogOf(...providers.map((parts) => ({ protocols: ["chat", "images"] as const, ...parts })))
  const routes = textCatalog.models.get("m")?.routes ?? []
  const painter = aModel({ publicName: "painter", kind: "image", capabilities: ["generate", "edit"], routes })
  const printer = aModel({ publicName: "printer", kind: "image", capabilities: ["generate"], routes })
  const hidden = aModel({ publicName: "hidden", kind: "image", capabilities: ["generate"], routes, hidden: true })
  const models = [painter, printer, hidden].map((each) => [each.publicName, each] as const)
  return { ...textCatalog, models: new Map([...textCatalog.models, ...models]) }
}

let upstreams: FakeUpstreams
let images: FakeImageRequests
let gateway: TestGateway
const start = async (parts: Partial<TestGatewayOptions> = {}) => {
  gateway = await startGateway({ catalog: imageCatalog({}), upstreams: upstreams.layer, images, ...parts })
}
beforeEach(async () => {
  upstreams = new FakeUpstreams()
  images = new FakeImageRequests()
  await start()
})
afterEach(async () => {
  expect(await closeGateways()).toEqual(noResources())
})

type Headers = Record<string, string>

const generate = (body: unknown = aRequest, headers: Headers = {}) =>
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

/** Returns the status, the code and the invalid field of an error response, for example `400 invalid_request size`. */
const refusal = async (sent: Promise<Response>): Promise<string> => {
  const response = await sent
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

const respond = async (status: number, body: unknown, contentType = "application/json") => {
  const exchange = await upstreams.next()
  exchange.head(status, contentType).data(typeof body === "string" ? body : JSON.stringify(body))
  exchange.end()
  return exchange
}

const raw = (path: string, headers: ReadonlyArray<string>) =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEY}\r\n${headers.join("\r\n")}\r\n\r\n`

describe("an image generation", () => {
  it("is sent with the provider's model name", async () => {
    const pending = generate({
      ...aRequest,
      n: 1,
      size: "1024x1024",
      stream: false,
      response_format: "b64_json",
      quality: null
    })
    const { request, verdict } = await respond(200, result)
    await pending
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

  it("returns the image with the billing header `settled`", async () => {
    const pending = generate()
    await respond(200, { ...result, provider: "secret", data: [{ b64_json: IMAGE, revised_prompt: "SECRET" }] })
    const response = await pending
    expect(await response.json()).toEqual({
      created: expect.any(Number),
      data: [{ b64_json: IMAGE }],
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

  it("is delivered and charged if the provider adds an empty error", async () => {
    const pending = generate()
    await respond(200, { ...result, error: {} })
    expect((await pending).status).toBe(200)
    expect(images.finished).toMatchObject([{ state: "settled", charge: { charged: { input: 9n, output: 272n } } }])
  })

  it("is delivered if the provider's response begins with a byte order mark", async () => {
    const pending = generate()
    await respond(200, `\ufeff${JSON.stringify(result)}`, "application/json")
    const response = await pending
    expect([response.status, await response.json()]).toMatchObject([200, { data: [{ b64_json: IMAGE }] }])
  })

  it("is unmetered if the provider reports no usage", async () => {
    await start({ imageSettings: { serviceName: "acme" } })
    const pending = generate()
    await respond(200, { data: [{ b64_json: IMAGE }] })
    const response = await pending
    expect([response.status, response.headers.get("x-acme-billing")]).toEqual([200, "unmetered"])
    expect(await response.json()).not.toHaveProperty("usage")
  })

  it("is refused if a field or the body is invalid", async () => {
    expect(await refusal(generate({ ...aRequest, size: "5000x1" }))).toBe("400 invalid_request size")
    expect(await refusal(generate({ ...aRequest, response_format: "url" }))).toBe(
      "400 unsupported_parameter response_format"
    )
    expect(await refusal(generate({ ...aRequest, user: "x" }))).toBe("400 unsupported_parameter user")
    expect(await refusal(generate({ ...aRequest, Prompt: "b" }))).toBe("400 unsupported_parameter Prompt")
    expect(await refusal(generate({ model: "painter", PROMPT: "b" }))).toBe("400 unsupported_parameter PROMPT")
    expect(await refusal(generate('{"model":"painter","prompt":"a","prompt":"b"}'))).toBe("400 invalid_request prompt")
    expect(await refusal(generate('{"model":"painter","\\u0070rompt":"a","prompt":"b"}'))).toBe(
      "400 invalid_request prompt"
    )
    for (const body of ["", "[]", "{", '"x"', `{"model":"painter","prompt":"a"} x`]) {
      expect(await refusal(generate(body))).toBe("400 invalid_request")
    }
    expect(await refusal(generate(aRequest, { "content-type": "multipart/form-data; boundary=x" }))).toBe(
      "400 invalid_request"
    )
    expect(await refusal(generate(aRequest, { "content-encoding": "gzip" }))).toBe("400 invalid_request")
    expect([upstreams.exchanges, images.begun]).toEqual([[], []])
  })

  it("with an invalid API key is refused before its body is checked", async () => {
    expect(await refusal(generate("{", { authorization: "Bearer wrong" }))).toBe("401 invalid_api_key")
    expect(await refusal(generate("{", { "x-api-key": "other" }))).toBe("401 invalid_api_key")
    expect((await generate({ ...aRequest, n: 2 }, { authorization: "", "x-api-key": KEY })).status).toBe(400)
  })

  it("requires a known model that generates images", async () => {
    expect(await refusal(generate({ ...aRequest, model: "unknown" }))).toBe("404 model_not_found model")
    expect(await refusal(generate({ ...aRequest, model: "hidden" }))).toBe("404 model_not_found model")
    expect(await refusal(generate({ ...aRequest, model: "m" }))).toBe("400 unsupported_endpoint model")
    await start({ catalog: imageCatalog({ protocols: ["chat"] }) })
    expect(await refusal(generate())).toBe("400 unsupported_endpoint model")
  })

  it("above 512 KiB is refused with 413 before its body is complete", async () => {
    const announced = await RawClient.connect(gateway.port)
    announced.send(
      raw("/v1/images/generations", ["content-type: application/json", `content-length: ${512 * 1024 + 1}`])
    )
    const early = await announced.response()
    expect([early.status, JSON.parse(early.body).error.code]).toEqual([413, "request_too_large"])
    expect(early.headers.get("connection")).toBe("close")
    announced.disconnect()

    const streamed = await RawClient.connect(gateway.port)
    streamed.send(raw("/v1/images/generations", ["transfer-encoding: chunked"]))
    streamed.send(`90000\r\n${"x".repeat(0x90000)}\r\n`)
    expect((await streamed.response()).status).toBe(413)
    streamed.send("0\r\n\r\n")
    await streamed.untilClosed()
  })

  it("can have a prompt of 32,000 characters, each escaped as two surrogates", async () => {
    const bodyOf = (foxes: number) => `{"model":"painter","prompt":"${"\\ud83e\\udd8a".repeat(foxes)}"}`
    const fits = generate(bodyOf(32_000))
    const { request } = await respond(200, result)
    expect((await fits).status).toBe(200)
    expect(JSON.parse(Buffer.from(request.body).toString()).prompt).toBe("🦊".repeat(32_000))
    expect(await refusal(generate(bodyOf(32_001)))).toBe("400 invalid_request prompt")
  })
})

describe("an Idempotency-Key", () => {
  it("is passed to the store unchanged", async () => {
    for (const [headers, key] of [
      [{ "idempotency-key": "order-17" }, "order-17"],
      [{ "idempotency-key": "~".repeat(255) }, "~".repeat(255)],
      [{}, undefined]
    ] as ReadonlyArray<[Headers, string | undefined]>) {
      const pending = generate(aRequest, headers)
      await respond(200, result)
      await pending
      expect(images.begun.at(-1)?.idempotencyKey).toBe(key)
    }
  })

  it("must have 1 to 255 visible ASCII characters", async () => {
    for (const key of ["", "a b", "a".repeat(256), "ü"]) {
      const pending = refusal(generate(aRequest, { "idempotency-key": Buffer.from(key).toString("latin1") }))
      expect(await pending).toBe("400 invalid_request Idempotency-Key")
    }
    const client = await RawClient.connect(gateway.port)
    const body = JSON.stringify(aRequest)
    const twice = ["Idempotency-Key: a", "idempotency-key: a", `content-length: ${body.length}`]
    const response = await client.send(raw("/v1/images/generations", twice) + body).response()
    expect([response.status, JSON.parse(response.body).error.param]).toEqual([400, "Idempotency-Key"])
    client.disconnect()
  })
})

describe("an image edit", () => {
  it("is sent as a new form with the detected file type", async () => {
    const parts = [
      image(aWebp(), "image[]"),
      prompt,
      { name: "n", value: "1" },
      { name: "stream", value: "false" },
      model
    ]
    const pending = edit(parts)
    const { request } = await respond(200, result)
    expect((await pending).status).toBe(200)
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

  it("is refused if the form or the image is invalid", async () => {
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

  it("is refused with 400 unsupported_endpoint if the model only generates images", async () => {
    const printer = { name: "model", value: "printer" }
    expect(await refusal(edit([printer, prompt, image()]))).toBe("400 unsupported_endpoint model")
    expect(await refusal(edit([image(), prompt, printer]))).toBe("400 unsupported_endpoint model")
    expect(await refusal(edit([{ name: "model", value: "unknown" }, image()]))).toBe("404 model_not_found model")
  })

  it("is refused during its upload if an unsuitable model comes first", async () => {
    const client = await RawClient.connect(gateway.port)
    const head = ["transfer-encoding: chunked", `content-type: multipart/form-data; boundary=${BOUNDARY}`]
    const begin = aForm({ name: "model", value: "printer" }, image(Buffer.alloc(5_000)))
      .subarray(0, 600)
      .toString()
    client.send(raw("/v1/images/edits", head)).send(`${begin.length.toString(16)}\r\n${begin}\r\n`)
    const response = await client.response()
    expect([response.status, JSON.parse(response.body).error.code]).toEqual([400, "unsupported_endpoint"])
    client.disconnect()
  })

  it("gets 413 above 12 MiB or with a file above 10 MiB", async () => {
    const client = await RawClient.connect(gateway.port)
    const head = [`content-type: multipart/form-data; boundary=${BOUNDARY}`, `content-length: ${12 * MIB + 1}`]
    const response = await client.send(raw("/v1/images/edits", head)).response()
    expect([response.status, JSON.parse(response.body).error.code]).toEqual([413, "image_too_large"])
    client.disconnect()
    expect(await refusal(edit([model, prompt, image(Buffer.alloc(10 * MIB + 1))]))).toBe("413 image_too_large image")
  })

  it("gets 413 image_too_large if the provider refuses it as too large", async () => {
    const pending = edit()
    await respond(413, "too large")
    expect(await refusal(pending)).toBe("413 image_too_large image")
    const generating = generate()
    await respond(413, "too large")
    expect(await refusal(generating)).toBe("413 request_too_large")
  })
})

describe("a refused admission", () => {
  it.each([
    ["409 idempotency_key_reused", new IdempotencyKeyReused(), { "x-should-retry": "false" }],
    ["429 image_concurrency_limit", new ImageConcurrencyLimit({ retryAfterSeconds: 7 }), { "retry-after": "7" }],
    ["402 insufficient_balance", new InsufficientBalance(), { "x-should-retry": "false" }],
    ["503 overloaded", new Overloaded({ retryAfterSeconds: 2 }), { "retry-after": "2" }]
  ])("is reported as %s", async (expected, error, headers) => {
    images.refusal = error
    const response = await generate()
    expect(Object.fromEntries(response.headers)).toMatchObject(headers)
    expect(await refusal(Promise.resolve(response))).toBe(expected)
    expect(upstreams.exchanges).toEqual([])
  })
})

describe("an undelivered response", () => {
  /** An error of the type that OpenAI uses for policy violations, for invalid members and for its billing limit. */
  const userError = (code: string, message: string, param: string | null = null) => ({
    error: { code, type: "image_generation_user_error", message, param }
  })
  const policy = userError("moderation_blocked", "No cats, please.")

  it.each([
    [400, policy],
    [403, { error: { code: "content_policy_violation", message: "No cats, please." } }],
    [
      400,
      { error: { code: "bad", innererror: { code: "ResponsibleAIPolicyViolation" }, message: "No cats, please." } }
    ],
    [200, policy]
  ])("is reported as content_policy_violation for a policy violation with status %i", async (status, body) => {
    const pending = generate()
    const { verdict } = await respond(status, body)
    const response = await pending
    expect(await response.clone().json()).toMatchObject({ error: { message: "No cats, please." } })
    expect(await refusal(Promise.resolve(response))).toBe("400 content_policy_violation")
    expect(images.finished).toMatchObject([{ state: "declined", charge: { charged: { input: 0n, output: 0n } } }])
    expect([verdict, gateway.logged]).toEqual(["served", []])
  })

  it.each([
    ["without an image", {}],
    ["with an empty image", { b64_json: "", url: "" }],
    ["with an image", { b64_json: IMAGE }]
  ])("is reported as content_policy_violation if moderation withholds the image: %s", async (_, item) => {
    const pending = generate()
    const { verdict } = await respond(200, { data: [{ ...item, respect_moderation: false }] })
    expect(await refusal(pending)).toBe("400 content_policy_violation")
    expect(images.finished).toMatchObject([{ state: "declined", charge: { charged: { input: 0n, output: 0n } } }])
    expect([verdict, gateway.logged]).toEqual(["served", []])
  })

  it("is reported without names of the provider or of its model", async () => {
    for (const message of ["provider-0 declined", "See https://x.example", "m-0 may not draw cats"]) {
      const pending = generate()
      await respond(400, { error: { code: "content_policy_violation", message } })
      expect(await (await pending).text()).not.toMatch(/provider-0|x\.example|m-0/)
    }
  })

  it.each([
    [400, { error: { message: "Invalid size for painter", param: "size" } }, "400 invalid_request size", "served"],
    [400, { error: { message: "Billing hard limit has been reached." } }, "502 upstream_error", "failed"],
    [
      400,
      userError("billing_hard_limit_reached", "Billing hard limit has been reached"),
      "502 upstream_error",
      "failed"
    ],
    [400, userError("invalid_image_file", "Invalid image file or mode for image 1."), "400 invalid_request", "served"],
    [400, userError("invalid_value", "No such size.", "size"), "400 invalid_request size", "served"],
    [401, { error: { message: "bad key" } }, "502 upstream_error", "misconfigured"],
    [403, { error: { message: "no access" } }, "502 upstream_error", "served"],
    [429, { error: { code: "rate_limit_exceeded" } }, "429 technical_limit", "served"],
    [500, "oops", "502 upstream_error", "failed"],
    [503, "", "502 upstream_error", "failed"],
    [200, { error: { message: "secret failure" } }, "502 upstream_error", "failed"],
    [200, { error: { code: "rate_limit_exceeded" } }, "429 technical_limit", "served"],
    [200, "<html>", "502 upstream_error", "failed"],
    [200, { data: [{ url: "https://provider.example/a.png" }] }, "502 upstream_error", "failed"],
    [200, { data: [{ b64_json: IMAGE }, { b64_json: IMAGE }] }, "502 upstream_error", "failed"],
    [200, { data: [{ b64_json: "????" }] }, "502 upstream_error", "failed"]
  ])("with status %i and body %j is reported as %s", async (status, body, expected, expectedVerdict) => {
    const pending = generate()
    const { verdict } = await respond(status, body)
    expect(await refusal(pending)).toBe(expected)
    expect(verdict).toBe(expectedVerdict)
    expect(images.finished).toMatchObject([{ state: "failed", dispatched: true }])
  })

  it.each([
    { data: [{ url: "https://provider.example/a.png" }] },
    { data: [] },
    { data: [{ b64_json: "????" }] },
    { error: { message: "secret failure" } }
  ])("is recorded with the reported usage, and not charged: %j", async (body) => {
    const pending = generate()
    await respond(200, { ...body, usage: result.usage })
    expect(await refusal(pending)).toBe("502 upstream_error")
    const charge = { charged: { input: 0n, output: 0n }, consumed: { input: 9n, output: 272n }, source: "none" }
    expect(images.finished).toMatchObject([{ state: "failed", charge }])
  })

  it("is reported as 502 if its content type is not JSON", async () => {
    for (const type of ["text/html", "text/event-stream", "image/png"]) {
      const pending = generate()
      await respond(200, result, type)
      expect(await refusal(pending)).toBe("502 upstream_error")
    }
  })

  it("is reported as 502 without another attempt if it is cut", async () => {
    await start({ catalog: imageCatalog({}, {}) })
    const pending = generate()
    const exchange = await upstreams.next()
    exchange.head(200).data('{"data":[{"b64_json":"AAAA')
    exchange.events.onBroken("reset")
    expect(await refusal(pending)).toBe("502 upstream_error")
    expect([exchange.verdict, upstreams.exchanges.length]).toEqual(["failed", 1])
    expect(gateway.logged.join()).toContain("reset")
  })

  it("is reported as image_too_large_output if its image exceeds 20 MiB", async () => {
    const pending = generate()
    const exchange = await upstreams.next()
    exchange.head(200).data('{"data":[{"b64_json":"')
    const chunk = Buffer.alloc(MIB, "A")
    for (let sent = 0; sent < 30 && exchange.verdict === undefined; sent++) {
      exchange.events.onData(chunk)
      await new Promise(setImmediate)
    }
    expect(await refusal(pending)).toBe("502 image_too_large_output")
    expect([exchange.verdict, images.finished]).toMatchObject(["served", [{ state: "withheld" }]])
  })

  it("records the reported usage of an image that exceeds 20 MiB", async () => {
    const pending = generate()
    const b64_json = Buffer.alloc(20 * MIB + 1).toString("base64")
    await respond(200, { data: [{ b64_json }], usage: { input_tokens: 9, output_tokens: 272 } })
    expect(await refusal(pending)).toBe("502 image_too_large_output")
    const charge = { charged: { input: 0n, output: 0n }, consumed: { input: 9n, output: 272n } }
    expect(images.finished).toMatchObject([{ state: "withheld", charge }])
  })

  it("is reported as 502 if it is not complete before a timeout", async () => {
    const timeouts = { firstByteMillis: 10, idleMillis: 60, totalMillis: 150 }
    await start({ catalog: imageCatalog({ timeouts }, {}) })
    const silent = generate()
    const first = await upstreams.next()
    expect(await refusal(silent)).toBe("502 upstream_error")
    const stalled = generate()
    const second = await upstreams.next()
    second.head(200).data("{")
    expect(await refusal(stalled)).toBe("502 upstream_error")
    expect([first.verdict, second.verdict, upstreams.exchanges.length]).toEqual(["failed", "failed", 2])
    expect(gateway.logged.join()).toMatch(/no complete response within 150 ms.*no data received for 60 ms/s)
  })
})

describe("another provider", () => {
  it.each([
    ["fails", 500],
    ["rate-limits the gateway", 429],
    ["refuses the gateway's API key", 401]
  ])("is tried if the first provider %s", async (_, status) => {
    await start({ catalog: imageCatalog({}, {}) })
    const pending = generate()
    await respond(status, "")
    const { request } = await respond(200, result)
    expect((await pending).status).toBe(200)
    expect(JSON.parse(Buffer.from(request.body).toString()).model).toBe("m-1")
    expect(images.finished).toHaveLength(1)
  })

  it("is tried if the first provider is disabled", async () => {
    await start({ catalog: imageCatalog({}, {}) })
    upstreams.refusals.push(new UpstreamFailed({ cause: "off" }))
    const pending = edit()
    await respond(200, result)
    expect((await pending).status).toBe(200)
    expect(images.finished.at(-1)).toMatchObject({ state: "settled", dispatched: true })
  })

  it("that is overloaded or disabled too causes 503 or 502", async () => {
    await start({ catalog: imageCatalog({}, {}) })
    upstreams.refusals.push(new Overloaded({ retryAfterSeconds: 3 }), new Overloaded({ retryAfterSeconds: 3 }))
    expect(await refusal(generate())).toBe("503 overloaded")
    expect(images.finished.at(-1)).toMatchObject({ dispatched: false })
    upstreams.refusals.push(new UpstreamFailed({ cause: "off" }), new UpstreamFailed({ cause: "off" }))
    expect(await refusal(generate())).toBe("502 upstream_error")
    expect(images.finished.at(-1)).toMatchObject({ dispatched: false })
  })
})

describe("a client", () => {
  const connectedClient = async () => {
    const client = await RawClient.connect(gateway.port)
    const body = JSON.stringify(aRequest)
    client.send(raw("/v1/images/generations", [`content-length: ${body.length}`]) + body)
    return { client, exchange: await upstreams.next() }
  }

  it("is charged nothing if it disconnects before the response", async () => {
    const { client, exchange } = await connectedClient()
    client.disconnect()
    await eventually(() => exchange.verdict === "undecided", "the end of the exchange")
    await eventually(() => images.finished.length === 1, "the end of the request")
    expect(images.finished).toMatchObject([{ state: "abandoned", charge: { charged: { input: 0n, output: 0n } } }])
    await eventually(() => gateway.inFlight.count === 0, "the end of the request effect")
  })

  it("is charged nothing if it disconnects during the settlement", async () => {
    let finish = () => {}
    images.beforeFinishing = Effect.promise(() => new Promise<void>((resolve) => (finish = resolve)))
    const { client, exchange } = await connectedClient()
    exchange.head(200).data(JSON.stringify(result))
    exchange.end()
    await eventually(() => exchange.verdict === "served", "the image")
    client.disconnect()
    await eventually(() => gateway.inFlight.count === 1, "the end of the connection")
    finish()
    await eventually(() => images.finished.length === 1, "the end of the request")
    expect(images.finished).toMatchObject([{ state: "abandoned", charge: { charged: { input: 0n, output: 0n } } }])
  })

  /** A response whose image is larger than the buffers of a socket. */
  const large = { ...result, data: [{ b64_json: "A".repeat(20 * MIB) }] }
  const stalledClient = async () => {
    const { client, exchange } = await connectedClient()
    client.socket.pause()
    exchange.head(200).data(JSON.stringify(large))
    exchange.end()
    await eventually(() => images.finished.length === 1, "the settlement")
    return client
  }

  it("is charged if it disconnects during the transfer of a settled image", async () => {
    const client = await stalledClient()
    expect(gateway.counters.imageBytes).toBeGreaterThan(20 * MIB)
    client.disconnect()
    await eventually(() => gateway.inFlight.count === 0, "the end of the request effect")
    expect([gateway.counters.imageBytes, images.finished]).toMatchObject([0, [{ state: "settled" }]])
    expect(gateway.counters.finishedRequests).toMatchObject([{ status: 200, ending: "left" }])
  })

  it("is disconnected after the write timeout if it reads nothing", async () => {
    await start({ writeStallSeconds: 0.1 })
    const client = await stalledClient()
    await eventually(() => gateway.inFlight.count === 0, "the end of the request effect")
    expect(gateway.counters.imageBytes).toBe(0)
    client.socket.resume()
    await client.untilClosed()
    expect(client.text.length).toBeLessThan(20 * MIB)
  })

  it("uses no memory after it disconnects during its upload", async () => {
    const client = await RawClient.connect(gateway.port)
    const head = [`content-type: multipart/form-data; boundary=${BOUNDARY}`, "content-length: 5000000"]
    client.send(raw("/v1/images/edits", head)).send(aForm(model, prompt, image()).subarray(0, 300))
    await eventually(() => gateway.counters.imageBytes === 300, "300 bytes of the form")
    client.disconnect()
    await eventually(() => gateway.inFlight.count === 0 && gateway.counters.imageBytes === 0, "the end of the request")
    expect(images.begun).toEqual([])
  })
})

describe("memory for images", () => {
  const other = { authorization: `Bearer ${OTHER_KEY}` }

  it("is limited for all requests together", async () => {
    await start({ imageSettings: { allImageBytes: 12 * MIB } })
    const first = generate()
    const exchange = await upstreams.next()
    expect(await refusal(generate(aRequest, other))).toBe("503 overloaded")
    expect(images.finished).toMatchObject([{ state: "failed", dispatched: false }])
    expect(await refusal(edit([image(Buffer.alloc(5 * MIB)), model, prompt], other))).toBe("503 overloaded")
    exchange.head(200).data(JSON.stringify(result))
    exchange.end()
    expect((await first).status).toBe(200)
    await eventually(() => gateway.counters.imageBytes === 0, "no image in memory")
    const next = generate(aRequest, other)
    await respond(200, result)
    expect((await next).status).toBe(200)
  })

  it("of one customer is at most half of the memory that others do not use", async () => {
    await start({ imageSettings: { allImageBytes: 24 * MIB } })
    const upload = await RawClient.connect(gateway.port)
    upload.send(
      raw("/v1/images/edits", [`content-type: multipart/form-data; boundary=${BOUNDARY}`, `content-length: ${9 * MIB}`])
    )
    upload.send(aForm(model, prompt, image(Buffer.alloc(9 * MIB))).subarray(0, 8 * MIB))
    await eventually(() => gateway.counters.imageBytes === 8 * MIB, "the first part of an upload in memory")
    expect(await refusal(edit([image(Buffer.alloc(5 * MIB)), model, prompt]))).toBe("503 overloaded")
    const another = generate(aRequest, other)
    await respond(200, result)
    expect((await another).status).toBe(200)
    upload.disconnect()
    await eventually(() => gateway.counters.imageBytes === 0, "no image in memory")
  })

  it("that is too small for a response leads to 502", async () => {
    await start({ imageSettings: { allImageBytes: 12 * MIB } })
    const pending = generate()
    const exchange = await upstreams.next()
    exchange.head(200).data(`{"data":[{"b64_json":"${"A".repeat(7 * MIB)}`)
    expect(await refusal(pending)).toBe("502 upstream_error")
    expect(exchange.verdict).toBe("undecided")
  })
})

describe("a failure of the gateway", () => {
  it("is reported as 500 internal_error after an unexpected exception", async () => {
    images.beforeFinishing = Effect.dieMessage("broken")
    const pending = generate()
    await respond(200, result)
    expect(await refusal(pending)).toBe("500 internal_error")
    expect(gateway.logged.join()).toContain("a request failed because of an unexpected exception")
  })

  it("is reported as 503 overloaded if the database is unavailable", async () => {
    images.beforeFinishing = Effect.die(new DatabaseUnavailable({ cause: "gone" }))
    const pending = generate()
    await respond(200, result)
    expect(await refusal(pending)).toBe("503 overloaded")
    expect(gateway.logged.join()).toContain("a request failed because the database is unavailable")
  })

  it("is reported as 502 after the lease has expired", async () => {
    images.leaseLost = true
    const pending = generate()
    await respond(200, result)
    expect(await refusal(pending)).toBe("502 upstream_error")
  })
})

describe("a server that stops", () => {
  it("returns 503 to requests that outlast the grace period", async () => {
    await start({ drainSeconds: 0 })
    const pending = generate()
    const exchange = await upstreams.next()
    await gateway.close()
    expect(await refusal(pending)).toBe("503 overloaded")
    expect(exchange.verdict).toBe("undecided")
  })
})

describe("the request counters", () => {
  it("count image requests by their ending", async () => {
    const pending = generate()
    await respond(200, result)
    await (await pending).text()
    await refusal(generate({}))
    await eventually(() => gateway.counters.openRequests === 0, "the end of both requests")
    expect(gateway.counters.finishedRequests).toEqual([
      { protocol: "images", status: 200, ending: "complete", count: 1 },
      { protocol: "images", status: 400, ending: "refused", count: 1 }
    ])
  })
})
