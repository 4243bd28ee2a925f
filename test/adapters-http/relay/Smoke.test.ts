import { afterEach, expect, it } from "vitest"
import { ScriptedUpstream } from "../../support/ScriptedUpstream.ts"
import { chatFrames, completion, usage } from "../../support/upstream/ChatWire.ts"
import { json, stream } from "../../support/upstream/Script.ts"
import { catalogOf, closeGateways, KEY, startGateway } from "./TestGateway.ts"

afterEach(async () => {
  console.log(await closeGateways())
})
it("smoke", async () => {
  const up = await ScriptedUpstream.start()
  up.next(stream(chatFrames({ content: ["a", "b"], usage: usage(3, 2) })), json(completion({ usage: usage(3, 2) })))
  const g = await startGateway({ catalog: catalogOf({ baseUrl: up.baseUrl }) })
  const post = (body: unknown) =>
    fetch(g.url + "/v1/chat/completions", {
      method: "POST",
      headers: { authorization: "Bearer " + KEY, "content-type": "application/json" },
      body: JSON.stringify(body)
    })
  const r = await post({ model: "m", messages: [{ role: "user", content: "hi" }], stream: true })
  console.log(r.status, [...r.headers])
  console.log(await r.text())
  const r2 = await post({ model: "m", messages: [{ role: "user", content: "hi" }] })
  console.log(r2.status, [...r2.headers])
  console.log(await r2.text())
  for (const [m, p] of [
    ["GET", "/v1/models"],
    ["GET", "/"],
    ["HEAD", "/"],
    ["GET", "/healthz"],
    ["GET", "/readyz"],
    ["GET", "/nope"],
    ["GET", "/v1/chat/completions"],
    ["POST", "/chat/completions"],
    ["POST", "/v1/v1/chat/completions"],
    ["OPTIONS", "/x"],
    ["DELETE", "/v1/models"],
    ["GET", "/openapi.json"],
    ["GET", "/docs"],
    ["GET", "/v1/models/a/b"],
    ["GET", "/v1/models/a%2Fb"],
    ["GET", "/v1/models/"]
  ]) {
    const x = await fetch(g.url + p, {
      method: m!,
      headers: { "x-api-key": KEY, "access-control-request-headers": "authorization" }
    })
    const t = await x.text()
    console.log(m, p, x.status, t.length > 400 ? t.length : t, JSON.stringify([...x.headers]))
  }
  console.log(
    JSON.stringify(g.journal.settled, (k, v) => (typeof v === "bigint" ? String(v) : v)),
    g.logged,
    g.counters
  )
  await up.close()
})
