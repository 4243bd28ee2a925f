/**
 * Searches the database files, the logs and a temporary folder for the data of image requests.
 */
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pictureOf } from "@tollgate/simulators/images/SimulatedPicture"
import { afterAll, beforeAll, expect, it } from "vitest"
import { ServerProcess } from "../support/ServerProcess.ts"
import { TestGateway, until } from "../support/TestGateway.ts"
import { json, silence } from "../support/upstream/Script.ts"

/** A text that occurs only in prompts, file names, images and responses of the upstream. */
const PROMPT = "a vermilion axolotl at the tollgate of Ngawi"
const KEY = "order-of-the-vermilion-axolotl"
const SIZE = { format: "png", widthPx: 64, heightPx: 32, transparent: false } as const
const PICTURE = pictureOf({ ...SIZE, words: PROMPT })
const SOURCE = Buffer.from(pictureOf({ ...SIZE, words: "before" }), "base64")
const USAGE = { input_tokens: 10, output_tokens: 272 }

const folder = mkdtempSync(join(tmpdir(), "tollgate-image-privacy-"))
const logs: Array<string> = []
let gateway: TestGateway

beforeAll(async () => {
  gateway = await TestGateway.start({
    log: (line) => void logs.push(line),
    settings: { DATA_DIR: join(folder, "data"), NODE_DEAD_AFTER_SECONDS: "2" },
    provider: { protocols: ["images"] },
    model: { kind: "image", capabilities: ["generate", "edit"] }
  })
})
afterAll(async () => {
  await gateway.close()
  rmSync(folder, { recursive: true, force: true })
})

const generate = async (node: { readonly url: string }, key: string, idempotencyKey: string): Promise<number> => {
  const response = await fetch(`${node.url}/v1/images/generations`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "idempotency-key": idempotencyKey },
    body: JSON.stringify({ model: "m", prompt: PROMPT })
  })
  await response.arrayBuffer()
  return response.status
}

const edit = async (key: string): Promise<number> => {
  const form = new FormData()
  form.set("model", "m")
  form.set("prompt", PROMPT)
  form.set("image", new Blob([SOURCE]), `${PROMPT}.png`)
  const headers = { authorization: `Bearer ${key}` }
  const response = await fetch(`${gateway.url}/v1/images/edits`, { method: "POST", headers, body: form })
  await response.arrayBuffer()
  return response.status
}

/** Returns the files below these folders that contain one of these texts. */
const filesWith = (texts: ReadonlyArray<string>, folders: ReadonlyArray<string>): ReadonlyArray<string> => {
  try {
    const patterns = texts.flatMap((text) => ["-e", text])
    return execFileSync("grep", ["-rlaF", ...patterns, ...folders], { encoding: "utf8" })
      .trim()
      .split("\n")
  } catch (error) {
    // grep exits with 1 when it finds nothing, and with 2 when a file vanishes during the search.
    const { stdout } = error as { readonly stdout: string }
    return stdout === "" ? [] : stdout.trim().split("\n")
  }
}

it("no prompt, image or idempotency key of an image request is stored", async () => {
  const { upstream } = gateway
  const statuses: Array<number> = []
  const sendAs = async (send: (key: string) => Promise<number>) =>
    void statuses.push(await send((await gateway.newCustomer(1_000_000n)).key))

  upstream.next(json({ data: [{ b64_json: PICTURE, revised_prompt: PROMPT }], usage: USAGE }))
  await sendAs((key) => generate(gateway, key, KEY))
  upstream.next(json({ data: [{ b64_json: PICTURE }], usage: USAGE }))
  await sendAs(edit)
  upstream.next(json({ data: [{ b64_json: PICTURE }] }))
  await sendAs(edit)
  upstream.next(json({ error: { code: "moderation_blocked", message: `No '${PROMPT}' here.` } }, 400))
  await sendAs(edit)
  upstream.next(json({ error: { message: `The model choked on '${PROMPT}'.` } }, 500))
  await sendAs((key) => generate(gateway, key, `${KEY}-2`))
  upstream.next(json({ data: [{ url: `https://pictures.example/${PICTURE.slice(0, 80)}` }] }))
  await sendAs((key) => generate(gateway, key, `${KEY}-3`))
  expect(statuses).toEqual([200, 200, 200, 400, 502, 502])

  const server = await ServerProcess.beside(gateway, { DATA_DIR: join(folder, "killed"), TMPDIR: folder })
  upstream.next(silence)
  const requestsBefore = upstream.requests.length
  const { key } = await gateway.newCustomer(1_000_000n)
  const lost = generate(server, key, `${KEY}-4`).catch(() => "lost")
  await until(() => upstream.requests.length > requestsBefore)
  await server.kill()
  expect(await lost).toBe("lost")
  logs.push(server.stdout, server.stderr)

  const [{ cluster, database } = { cluster: "", database: "" }] = await gateway.query<{
    readonly cluster: string
    readonly database: string
  }>(
    `SELECT current_setting('data_directory') AS cluster, oid::text AS database
      FROM pg_database WHERE datname = current_database()`
  )
  const tables = join(cluster, "base", database)
  // A Postgres checkpoint writes all changed pages to disk, where the search can find them.
  await gateway.query("CHECKPOINT")
  const secrets = [PROMPT, KEY, PICTURE.slice(0, 64), SOURCE.toString("base64").slice(0, 64)]
  const raw = [Buffer.from(PICTURE, "base64"), SOURCE].map((bytes) => bytes.subarray(0, 40).toString("latin1"))
  expect(logs.filter((line) => [...secrets, ...raw].some((secret) => line.includes(secret)))).toEqual([])
  expect(filesWith(secrets, [tables, join(cluster, "pg_wal"), folder])).toEqual([])
  // This proves that the search works: it finds a text that is stored.
  expect(filesWith([gateway.customer.email], [tables])).not.toEqual([])
  expect(logs.some((line) => line.includes("upstream request failed"))).toBe(true)
})
