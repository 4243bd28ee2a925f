/**
 * Searches the database files, the logs and a temporary folder for the data of image requests.
 */
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pictureOf } from "@tollgate/simulators/images/SimulatedPicture"
import { afterAll, beforeAll, expect, it } from "vitest"
import { ServerProcess } from "../support/ServerProcess.ts"
import { TestGateway, until } from "../support/TestGateway.ts"
import { json, silence } from "../support/upstream/Script.ts"

/** A text that occurs only in prompts, file names, images and responses of the upstream. */
const PROMPT = "a vermilion axolotl at the tollgate of Ngawi"
const IDEMPOTENCY_KEY = "order-of-the-vermilion-axolotl"
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

const edit = async (node: { readonly url: string }, key: string, idempotencyKey: string): Promise<number> => {
  const form = new FormData()
  form.set("model", "m")
  form.set("prompt", PROMPT)
  form.set("image", new Blob([SOURCE]), `${PROMPT}.png`)
  const headers = { authorization: `Bearer ${key}`, "idempotency-key": idempotencyKey }
  const response = await fetch(`${node.url}/v1/images/edits`, { method: "POST", headers, body: form })
  await response.arrayBuffer()
  return response.status
}

/** Returns the files below these folders that contain one of these texts or byte sequences. */
const filesWith = (
  sequences: ReadonlyArray<string | Uint8Array>,
  folders: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const pattern = sequences.map((sequence) => Buffer.from(sequence).toString("hex").replace(/../g, "\\x$&")).join("|")
  try {
    // In another locale, grep would not search bytes that are invalid in its character encoding.
    const env = { ...process.env, LC_ALL: "C" }
    return execFileSync("grep", ["-rlaP", pattern, ...folders], { encoding: "utf8", env })
      .trim()
      .split("\n")
  } catch (error) {
    // grep exits with 1 when it finds nothing, and with 2 when a file vanishes during the search.
    const { stdout } = error as { readonly stdout: string }
    return stdout === "" ? [] : stdout.trim().split("\n")
  }
}

/** Returns a part of an image file that identifies the file. It has no line break, because grep searches in lines. */
const partOf = (file: Uint8Array): Uint8Array => {
  for (let end = file.length; end >= 32; end--) {
    const part = file.subarray(end - 32, end)
    // The last twelve bytes of every PNG file are equal.
    if (end <= file.length - 12 && !part.includes(0x0a)) return part
  }
  throw new Error("the file has no part without a line break")
}

it("no prompt, image or idempotency key of an image request is stored or logged", async () => {
  const { upstream } = gateway
  const statuses: Array<number> = []
  const sendAs = async (send: (key: string) => Promise<number>) =>
    void statuses.push(await send((await gateway.newCustomer(1_000_000n)).key))

  upstream.next(json({ data: [{ b64_json: PICTURE, revised_prompt: PROMPT }], usage: USAGE }))
  await sendAs((key) => generate(gateway, key, IDEMPOTENCY_KEY))
  upstream.next(json({ data: [{ b64_json: PICTURE }], usage: USAGE }))
  await sendAs((key) => edit(gateway, key, `${IDEMPOTENCY_KEY}-edit-1`))
  upstream.next(json({ data: [{ b64_json: PICTURE }] }))
  await sendAs((key) => edit(gateway, key, `${IDEMPOTENCY_KEY}-edit-2`))
  upstream.next(json({ error: { code: "moderation_blocked", message: `No '${PROMPT}' here.` } }, 400))
  await sendAs((key) => edit(gateway, key, `${IDEMPOTENCY_KEY}-edit-3`))
  upstream.next(json({ error: { message: `The model choked on '${PROMPT}'.` } }, 500))
  await sendAs((key) => generate(gateway, key, `${IDEMPOTENCY_KEY}-2`))
  upstream.next(json({ data: [{ url: `https://pictures.example/${PICTURE.slice(0, 80)}` }] }))
  await sendAs((key) => generate(gateway, key, `${IDEMPOTENCY_KEY}-3`))
  expect(statuses).toEqual([200, 200, 200, 400, 502, 502])

  const server = await ServerProcess.beside(gateway, { DATA_DIR: join(folder, "killed"), TMPDIR: folder })
  upstream.next(silence)
  const requestsBefore = upstream.requests.length
  const { key } = await gateway.newCustomer(1_000_000n)
  const lost = edit(server, key, `${IDEMPOTENCY_KEY}-4`).catch(() => "lost")
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
  const secrets = [PROMPT, IDEMPOTENCY_KEY, PICTURE.slice(0, 64), SOURCE.toString("base64").slice(0, 64)]
  const files = [Buffer.from(PICTURE, "base64"), SOURCE]
  const raw = files.map((bytes) => bytes.subarray(0, 40).toString("latin1"))
  const parts = files.map(partOf)
  expect(logs.filter((line) => [...secrets, ...raw].some((secret) => line.includes(secret)))).toEqual([])
  expect(filesWith([...secrets, ...parts], [tables, join(cluster, "pg_wal"), folder])).toEqual([])
  // These two searches show that a stored text and a stored image are found.
  expect(filesWith([gateway.customer.email], [tables])).not.toEqual([])
  writeFileSync(join(folder, "source.png"), SOURCE)
  expect(filesWith(parts, [folder])).toEqual([join(folder, "source.png")])
  expect(logs.some((line) => line.includes("upstream request failed"))).toBe(true)
})
