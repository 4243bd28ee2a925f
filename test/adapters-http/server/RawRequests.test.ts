/**
 * A liveness probe follows each request in the same write. It must be served only if the end of the request is
 * unambiguous.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { FakeUpstreams } from "../inference/relay/FakeUpstreams.ts"
import { RawClient } from "../inference/relay/RawClient.ts"
import {
  catalogOf,
  closeGateways,
  eventually,
  KEY,
  noResources,
  startGateway,
  type TestGateway
} from "../inference/relay/TestGateway.ts"

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startGateway({ catalog: catalogOf({}), upstreams: new FakeUpstreams().layer })
})
afterAll(async () => {
  await eventually(() => gateway.inFlight.count === 0, "the end of all requests")
  expect(await closeGateways()).toEqual(noResources())
})

const HOST = "Host: x\r\n"
const PROBE = `GET /healthz HTTP/1.1\r\n${HOST}\r\n`
/** The beginning of a POST request that is refused before its body is read. */
const POST = `POST /nowhere HTTP/1.1\r\n${HOST}`
const CHAT = `POST /v1/chat/completions HTTP/1.1\r\n${HOST}x-api-key: ${KEY}\r\n`
const CHUNKED = `${CHAT}Transfer-Encoding: chunked\r\n\r\n`
const get = (...lines: ReadonlyArray<string>) => ["GET /healthz HTTP/1.1", ...lines, "", ""].join("\r\n")
const long = (bytes: number) => "x".repeat(bytes)

/** The statuses of all responses, and whether the connection then stays open or is closed by the server. */
type Expected = readonly [statuses: ReadonlyArray<number>, connection: "open" | "closed"]
const refused: Expected = [[400], "closed"]
const tooLarge: Expected = [[431], "closed"]
/** The case and the probe after it are served. */
const served: Expected = [[200, 200], "open"]
const withTransferCoding = (coding: string, line = `Transfer-Encoding: ${coding}`) =>
  `${CHAT}${line}\r\n\r\n2\r\n{}\r\n0\r\n\r\n`

const cases: Readonly<Record<string, readonly [bytes: string, expected: Expected]>> = {
  "content-length before transfer-encoding": [
    `${CHAT}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    refused
  ],
  "transfer-encoding before content-length": [
    `${CHAT}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n`,
    refused
  ],
  "two different lengths": [`${CHAT}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`, refused],
  "the same length twice": [`${CHAT}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`, refused],
  "a list of lengths": [`${CHAT}Content-Length: 2, 2\r\n\r\n{}`, refused],
  "a length with a sign": [`${CHAT}Content-Length: +2\r\n\r\n{}`, refused],
  "a negative length": [`${CHAT}Content-Length: -2\r\n\r\n{}`, refused],
  "a hexadecimal length": [`${CHAT}Content-Length: 0x2\r\n\r\n{}`, refused],
  "a length of 23 digits": [`${CHAT}Content-Length: ${"9".repeat(23)}\r\n\r\n{}`, refused],
  "an empty length": [`${CHAT}Content-Length: \r\n\r\n`, refused],
  "a space before the colon of content-length": [`${CHAT}Content-Length : 2\r\n\r\n{}`, refused],
  "a space before the colon of transfer-encoding": [withTransferCoding("", "Transfer-Encoding : chunked"), refused],
  "transfer-encoding chunked, identity": [withTransferCoding("chunked, identity"), refused],
  "transfer-encoding identity": [withTransferCoding("identity"), refused],
  "transfer-encoding gzip, chunked": [withTransferCoding("gzip, chunked"), refused],
  "transfer-encoding chunked, chunked": [withTransferCoding("chunked, chunked"), refused],
  "transfer-encoding xchunked": [withTransferCoding("xchunked"), refused],
  "transfer-encoding in quotes": [withTransferCoding('"chunked"'), refused],
  "two transfer-encoding headers": [withTransferCoding("chunked\r\nTransfer-Encoding: identity"), refused],
  "a vertical tab before chunked": [withTransferCoding("\u000bchunked"), refused],
  "transfer-encoding in a folded line": [withTransferCoding("\r\n chunked"), refused],
  "transfer-encoding in HTTP/1.0": [
    withTransferCoding("chunked\r\nConnection: keep-alive").replace("HTTP/1.1", "HTTP/1.0"),
    refused
  ],
  "transfer-encoding in capitals": [withTransferCoding("CHUNKED"), [[400, 200], "open"]],
  "a folded header": [get("Host: x", "X-A: b", " c"), refused],
  "a folded first header": [get(" Host: x"), refused],
  "a line feed after the request line": [`GET /healthz HTTP/1.1\n${HOST}\r\n`, refused],
  "a line feed after a header": ["GET /healthz HTTP/1.1\r\nHost: x\nX-A: b\r\n\r\n", refused],
  "a line feed at the end of the head": ["GET /healthz HTTP/1.1\r\nHost: x\r\n\n", refused],
  "a carriage return inside a header": [get("Host: x\rX-A: b"), refused],
  "a chunk extension": [`${CHUNKED}2;a=b\r\n{}\r\n0\r\n\r\n`, [[400, 200], "open"]],
  "a chunk extension of 20 KiB": [`${CHUNKED}2;${long(20_480)}\r\n{}\r\n0\r\n\r\n`, refused],
  "a chunk extension that ends in a line feed": [`${CHUNKED}2;a\n{}\r\n0\r\n\r\n`, refused],
  "a chunk size that ends in a line feed": [`${CHUNKED}2\n{}\r\n0\r\n\r\n`, refused],
  "a chunk that ends in a line feed": [`${CHUNKED}2\r\n{}\n0\r\n\r\n`, refused],
  "a chunk size with 0x": [`${CHUNKED}0x2\r\n{}\r\n0\r\n\r\n`, refused],
  "a negative chunk size": [`${CHUNKED}-2\r\n{}\r\n0\r\n\r\n`, refused],
  "an empty chunk size": [`${CHUNKED}\r\n{}\r\n0\r\n\r\n`, refused],
  "a chunk size of 17 digits": [`${CHUNKED}${"f".repeat(17)}\r\n{}\r\n0\r\n\r\n`, refused],
  "a chunk longer than its size": [`${CHUNKED}1\r\n{}\r\n0\r\n\r\n`, refused],
  "trailers with a length": [`${CHUNKED}2\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n`, refused],
  "trailers of 20 KiB": [`${CHUNKED}2\r\n{}\r\n0\r\nX: ${long(20_480)}\r\n\r\n`, tooLarge],
  "empty lines before a request": [`\r\n\r\n${PROBE}`, served],
  "an absolute URL": [`GET http://x/healthz HTTP/1.1\r\n${HOST}\r\n`, served],
  "an absolute URL of another host": [`GET HTTPS://other.example/healthz HTTP/1.1\r\n${HOST}\r\n`, served],
  "an absolute URL of a relayed path": [
    `POST http://x/v1/chat/completions HTTP/1.1\r\n${HOST}Content-Length: 0\r\n\r\n`,
    [[401, 200], "open"]
  ],
  "an absolute URL without a Host header": ["GET http://x/healthz HTTP/1.1\r\n\r\n", refused],
  "a target without a slash": [`GET healthz HTTP/1.1\r\n${HOST}\r\n`, refused],
  "GET *": [`GET * HTTP/1.1\r\n${HOST}\r\n`, refused],
  "OPTIONS *": [`OPTIONS * HTTP/1.1\r\n${HOST}\r\n`, [[204, 200], "open"]],
  CONNECT: [`CONNECT x:443 HTTP/1.1\r\n${HOST}\r\n`, [[405], "closed"]],
  "an upgrade to WebSocket": [get("Host: x", "Connection: Upgrade", "Upgrade: websocket"), [[200], "closed"]],
  "an upgrade to HTTP/2": [get("Host: x", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c"), [[200], "closed"]],
  "the preface of HTTP/2": ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", refused],
  "HTTP/2.0": [`GET /healthz HTTP/2.0\r\n${HOST}\r\n`, refused],
  "HTTP/1.2": [`GET /healthz HTTP/1.2\r\n${HOST}\r\n`, refused],
  "HTTP/0.9": ["GET /healthz\r\n\r\n", refused],
  "HTTP/1.0": ["GET /healthz HTTP/1.0\r\n\r\n", [[200], "closed"]],
  "HTTP/1.0 with keep-alive": ["GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", served],
  "no Host header": [get(), refused],
  "two Host headers": [get("Host: x", "Host: y"), refused],
  "the same Host header twice": [get("Host: x", "host: x"), refused],
  "an empty Host header": [get("Host:"), served],
  "a Host header with a path": [get("Host: x/y"), refused],
  "a Host header with a user": [get("Host: user@x"), refused],
  "200 headers": [get("Host: x", ...Array<string>(199).fill("a: b")), served],
  "201 headers": [get("Host: x", ...Array<string>(200).fill("a: b")), tooLarge],
  "3,000 headers": [get("Host: x", ...Array<string>(3_000).fill("a:b")), tooLarge],
  "a header of 17 KiB": [get("Host: x", `a: ${long(17_408)}`), tooLarge],
  "a header name of 17 KiB": [get("Host: x", `${long(17_408)}: a`), tooLarge],
  "a path of 17 KiB": [`GET /${long(17_408)} HTTP/1.1\r\n${HOST}\r\n`, tooLarge],
  "a path of 15 KiB": [`GET /${long(15_360)} HTTP/1.1\r\n${HOST}\r\n`, [[404, 200], "open"]],
  "NUL in a header": [get("Host: x", "a: b\u0000c"), refused],
  "NUL in a header name": [get("Host: x", "a\u0000: b"), refused],
  "NUL in the path": [`GET /health\u0000z HTTP/1.1\r\n${HOST}\r\n`, refused],
  "a control byte in a header": [get("Host: x", "a: b\u0001c"), refused],
  "a control byte in the path": [`GET /health\u007fz HTTP/1.1\r\n${HOST}\r\n`, refused],
  "a space in the path": [`GET /healthz x HTTP/1.1\r\n${HOST}\r\n`, refused],
  "an invalid escape in the path": [`GET /%zz HTTP/1.1\r\n${HOST}\r\n`, [[404, 200], "open"]],
  "a path with two dots": [`GET /v1/../healthz HTTP/1.1\r\n${HOST}\r\n`, [[404, 200], "open"]],
  "a header without a name": [get("Host: x", ": b"), refused],
  "a header without a colon": [get("Host: x", "abc"), refused],
  "a method in small letters": [`get /healthz HTTP/1.1\r\n${HOST}\r\n`, refused],
  "an unknown method": [`BREW /healthz HTTP/1.1\r\n${HOST}\r\n`, refused],
  TRACE: [`TRACE /healthz HTTP/1.1\r\n${HOST}\r\n`, [[405, 200], "open"]],
  "a request as the body of a request": [`${get("Host: x", `Content-Length: ${PROBE.length}`)}${PROBE}`, served],
  "a TLS handshake": ["\u0016\u0003\u0001\u0000\u00a5\u0001\u0000\u0000\u00a1\u0003\u0003", refused],
  "Expect: 100-continue without an API key": [
    `POST /v1/chat/completions HTTP/1.1\r\n${HOST}Expect: 100-continue\r\nContent-Length: ${PROBE.length}\r\n\r\n`,
    [[401], "closed"]
  ],
  "Expect: 100-continue on an unknown path": [
    `${POST}Expect: 100-continue\r\nContent-Length: ${PROBE.length}\r\n\r\n`,
    [[404], "closed"]
  ],
  "Expect: 100-continue of an image without an API key": [
    `POST /v1/images/edits HTTP/1.1\r\n${HOST}Expect: 100-continue\r\nContent-Length: ${PROBE.length}\r\n\r\n`,
    [[401], "closed"]
  ],
  "Expect: 100-continue of a request that is accepted": [
    `${CHAT}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}`,
    [[100, 400, 200], "open"]
  ],
  "Expect: 100-continue of a login": [
    `POST /api/reseller/auth/login HTTP/1.1\r\n${HOST}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}`,
    [[100, 422, 200], "open"]
  ],
  "another expectation": [get("Host: x", "Expect: miracles"), [[417], "closed"]]
}

const statusesIn = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))

describe("a raw request with", () => {
  it.each(Object.entries(cases))("%s gets the expected response", async (_, [bytes, [statuses, connection]]) => {
    const client = await RawClient.connect(gateway.port)
    client.send(Buffer.from(bytes + PROBE, "latin1"))
    if (connection === "closed") await client.untilClosed()
    else {
      await client.until(({ text }) => statusesIn(text).length >= statuses.length, "all responses")
      client.send(PROBE)
      await client.until(({ text }) => statusesIn(text).length > statuses.length, "a response after all others")
    }
    expect(statusesIn(client.text).slice(0, connection === "closed" ? undefined : -1)).toEqual(statuses)
    const [head = "", body = ""] = client.text.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, "").split("\r\n\r\n")
    if (Number(head.slice(9, 12)) >= 400) {
      const requestId = /^x-request-id: (.+)$/im.exec(head)?.[1] ?? "none"
      expect(body.slice(0, body.indexOf("}}") + 90)).toContain(requestId)
      expect(body).toContain('"code":"')
    }
    client.disconnect()
  })
})
