/**
 * Tests the packages in the way that other projects use them: packed and installed outside the repository.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { createInterface } from "node:readline"
import { setTimeout } from "node:timers/promises"
import { promisify } from "node:util"
import { Effect, Exit, Scope } from "effect"
import * as Pg from "pg"
import ts from "typescript"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { promptTokens } from "../support/LocalCount.ts"
import * as TestDatabase from "../support/TestDatabase.ts"
import { TestGateway } from "../support/TestGateway.ts"
import { chunk, usage, usageChunk } from "../support/upstream/ChatWire.ts"
import { done, event, script, stall } from "../support/upstream/Script.ts"

const ROOT = resolve(import.meta.dirname, "../..")
const INSTALL_TIMEOUT_MILLIS = 180_000

const run = promisify(execFile)
/** Runs npm in a folder. Removes variables that `npm test` sets, because they direct npm to this repository. */
const npm = (folder: string, ...args: ReadonlyArray<string>) => {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|INIT_CWD$)/.test(name)))
  return run("npm", [...args, "--prefer-offline", "--no-audit", "--no-fund"], { cwd: folder, env })
}

let home: string
const example = (name: string): string => join(home, "examples", name)
const emptyProject = (): string => join(home, "empty")

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "tollgate-packages-"))
  const packages = ["domain", "application"].map((name) => join(ROOT, "packages", name))
  await npm(home, "pack", ...packages)
  await cp(join(ROOT, "examples"), join(home, "examples"), {
    recursive: true,
    filter: (path) => !/\/(node_modules|dist)$/.test(path)
  })
  // Both examples share one `npm install`, which saves time: effect alone has 2,700 files.
  const examples = ["ledger-service", "metering-client"]
  await write(join(home, "examples"), { private: true, workspaces: examples })
  for (const name of examples) {
    await write(example(name), JSON.parse(await readFile(join(example(name), "package.json"), "utf8")))
  }
  await mkdir(emptyProject())
  const dependencies = { "@tollgate/application": "0.2.0", "@tollgate/domain": "0.2.0" }
  await write(emptyProject(), { type: "module", dependencies })
  await Promise.all([npm(join(home, "examples"), "install"), npm(emptyProject(), "install")])
  await Promise.all(examples.map((name) => npm(example(name), "run", "build")))
}, INSTALL_TIMEOUT_MILLIS)

afterAll(() => rm(home, { recursive: true, force: true }))

interface Manifest {
  readonly type?: string
  readonly private?: boolean
  readonly workspaces?: ReadonlyArray<string>
  readonly dependencies?: Readonly<Record<string, string>>
}

/** Writes a package.json in which each @tollgate dependency is the packed file of the package. */
const write = (folder: string, manifest: Manifest): Promise<void> => {
  const dependencies = Object.fromEntries(
    Object.entries(manifest.dependencies ?? {}).map(([name, version]) =>
      name.startsWith("@tollgate/")
        ? [name, `file:${join(home, `tollgate-${name.slice("@tollgate/".length)}-${version}.tgz`)}`]
        : [name, version]
    )
  )
  return writeFile(join(folder, "package.json"), JSON.stringify({ ...manifest, dependencies }))
}

describe("an empty project", () => {
  const program = `
    import { Balances, customerBalances } from "@tollgate/application/customer/Balances"
    import { TokenCounter } from "@tollgate/application/inference/TokenCounter"
    import { OpenHolds } from "@tollgate/application/ledger/OpenHolds"
    import { ResellerId } from "@tollgate/domain/reseller/Reseller"
    import * as Tokens from "@tollgate/domain/money/Tokens"
    import { Effect, Layer } from "effect"

    const ports = Layer.mergeAll(
      Layer.succeed(TokenCounter, { count: (text) => Effect.succeed(Tokens.fromCount(text.length)) }),
      Layer.succeed(OpenHolds, { page: () => Effect.succeed([]), list: Effect.succeed([]), sweep: Effect.succeed(0), sweepSilent: () => Effect.succeed(0) }),
      Layer.succeed(Balances, { ofCustomer: () => Effect.dieMessage("unused"), ofKeyOwner: () => Effect.dieMessage("unused"), own: () => Effect.dieMessage("unused") })
    )
    const id = ResellerId.make("019ac000-0000-7000-8000-000000000000")
    const { count } = await Effect.runPromise(Effect.provide(TokenCounter, ports))
    const refused = await Effect.runPromise(Effect.provide(Effect.flip(customerBalances(id, "not a UUID")), ports))
    const { list } = await Effect.runPromise(Effect.provide(OpenHolds, ports))
    console.log(await Effect.runPromise(count("four")), refused._tag, await Effect.runPromise(list))
    export {}
  `

  it(
    "type-checks against the declarations of domain and application",
    async () => {
      const folder = emptyProject()
      const main = join(folder, "main.ts")
      await writeFile(main, program)
      const declarations = await declarationsOf(folder)
      expect(declarations.length).toBeGreaterThan(100)

      const options: ts.CompilerOptions = {
        target: ts.ScriptTarget.ES2022,
        lib: ["lib.es2023.d.ts", "lib.dom.d.ts"],
        module: ts.ModuleKind.NodeNext,
        types: [],
        strict: true,
        exactOptionalPropertyTypes: true,
        skipLibCheck: false
      }
      const compilation = ts.createProgram([main, ...declarations], options)
      // The declarations of `effect` are not checked, because this would take ten seconds.
      const diagnostics = [main, ...declarations].flatMap((path) => {
        const file = compilation.getSourceFile(path)
        return [...compilation.getSyntacticDiagnostics(file), ...compilation.getSemanticDiagnostics(file)]
      })
      expect(diagnostics.map(({ file, messageText }) => `${file?.fileName}: ${JSON.stringify(messageText)}`)).toEqual(
        []
      )
      compilation.emit(compilation.getSourceFile(main))

      expect((await run(process.execPath, ["main.js"], { cwd: folder })).stdout).toBe("4n ValidationFailed []\n")
    },
    INSTALL_TIMEOUT_MILLIS
  )

  it("has one copy of effect", async () => {
    const manifests = (await filesOf(join(emptyProject(), "node_modules"))).filter((path) =>
      path.endsWith("/node_modules/effect/package.json")
    )
    expect(manifests).toHaveLength(1)
  })
})

const declarationsOf = async (folder: string): Promise<ReadonlyArray<string>> => {
  const files = await filesOf(join(folder, "node_modules/@tollgate"))
  return files.filter((path) => path.endsWith(".d.ts"))
}

const filesOf = async (folder: string): Promise<ReadonlyArray<string>> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

describe("a packed package", () => {
  it("contains only its package.json, README, sources and outputs", async () => {
    const installed = join(emptyProject(), "node_modules/@tollgate")
    const files = (await filesOf(installed)).map((path) => path.slice(installed.length + 1))
    const named = (extension: string) =>
      files
        .filter((path) => path.includes("/dist/") && path.endsWith(extension))
        .map((path) => path.replace(extension, ""))
    const sources = files
      .filter((path) => path.includes("/src/"))
      .map((path) => path.replace("/src/", "/dist/").replace(/\.ts$/, ""))
    for (const extension of [".js", ".js.map", ".d.ts", ".d.ts.map"]) {
      expect(named(extension).sort(), extension).toEqual([...sources].sort())
    }
    const others = files.filter((path) => !/\/(src|dist)\//.test(path))
    expect(others.filter((path) => !/^(domain|application)\/(package\.json|README\.md)$/.test(path))).toEqual([])
    expect(files.filter((path) => path.endsWith(".tsbuildinfo"))).toEqual([])
  })

  it("has outputs without a relative import of a .ts file", async () => {
    const files = await filesOf(join(emptyProject(), "node_modules/@tollgate"))
    const outputs = files.filter((path) => /\/dist\/.*\.(js|d\.ts)$/.test(path))
    const texts = await Promise.all(outputs.map(async (path) => ({ path, text: await readFile(path, "utf8") })))
    expect(texts.filter(({ text }) => /(from |import\(?)"\.[^"]*\.ts"/.test(text)).map(({ path }) => path)).toEqual([])
  })
})

describe("the metering client", () => {
  const bill = async (deltas: number, env: NodeJS.ProcessEnv = {}): Promise<string> => {
    const folder = example("metering-client")
    const { stdout } = await run(process.execPath, ["dist/main.js", `${deltas}`], {
      cwd: folder,
      env: { PATH: process.env.PATH, ...env }
    })
    return stdout.trim()
  }

  it.each([
    [1, "client_gone: 11 + 1 tokens, 13 micro-USD"],
    [3, "client_gone: 11 + 3 tokens, 17 micro-USD"],
    [99, "complete: 11 + 10 tokens, 31 micro-USD"]
  ])("computes the charge after %d deltas as %s", async (deltas, printed) => {
    expect(await bill(deltas)).toBe(printed)
  })

  it("computes the same charge as the gateway for the same stream", async () => {
    const gateway = await TestGateway.start()
    const deltas = [" hello", " hello", " hello", " hello"].map((content) => event(chunk({ content })))
    const end = [event(chunk({}, "stop")), event(usageChunk(usage(70, 4))), done]
    const client = { BASE_URL: gateway.url, API_KEY: gateway.key }
    const billed = async (k: number): Promise<ReadonlyArray<string>> => {
      const printed = await bill(k, client)
      const { ending, charged_input, charged_output, cost_pico } = await gateway.lastSettlement()
      const micro = cost_pico / 1_000_000n
      return [printed, `${ending}: ${charged_input} + ${charged_output} tokens, ${micro} micro-USD`]
    }
    const prompt = promptTokens("Count to ten.")

    for (const k of [1, 3]) {
      gateway.upstream.next(script({ steps: [...deltas.slice(0, k), stall] }))
      const due = `client_gone: ${prompt} + ${k} tokens, ${prompt + 2n * BigInt(k)} micro-USD`
      expect(await billed(k)).toEqual([due, due])
    }
    gateway.upstream.next(script({ steps: [...deltas, ...end] }))
    const due = "complete: 70 + 4 tokens, 78 micro-USD"
    expect(await billed(99)).toEqual([due, due])
    await gateway.close()
  })
})

describe("the ledger service", () => {
  const scope = Effect.runSync(Scope.make())
  let service: ChildProcess
  let url: string
  let database: Pg.Client

  beforeAll(async () => {
    const folder = example("ledger-service")
    const { settings, url: DATABASE_URL } = await Effect.runPromise(Scope.extend(TestDatabase.make("empty"), scope))
    database = new Pg.Client(settings)
    await database.connect()
    service = spawn(process.execPath, ["dist/main.js"], {
      cwd: folder,
      env: { PATH: process.env.PATH, DATABASE_URL, PORT: "0" },
      stdio: ["ignore", "pipe", "inherit"]
    })
    if (service.stdout === null) throw new Error("the service has no output")
    for await (const line of createInterface(service.stdout)) {
      url = line.replace("listening on ", "")
      break
    }
  }, INSTALL_TIMEOUT_MILLIS)

  afterAll(async () => {
    service?.kill()
    await database?.end()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  const post = async (path: string, body: object): Promise<{ readonly status: number; readonly body: unknown }> => {
    const response = await fetch(`${url}${path}`, { method: "POST", body: JSON.stringify(body) })
    return { status: response.status, body: await response.json() }
  }
  const open = (id: string, micro: bigint) =>
    database.query("INSERT INTO accounts (id, credits_posted) VALUES ($1, $2)", [id, micro * 1_000_000n])
  const balanceOf = async (id: string) => {
    const { rows } = await database.query("SELECT debits_posted, debits_pending FROM accounts WHERE id = $1", [id])
    return { posted: BigInt(rows[0].debits_posted) / 1_000_000n, pending: BigInt(rows[0].debits_pending) / 1_000_000n }
  }

  const terminateConnections = async () => {
    const { rowCount } = await database.query(
      "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    expect(rowCount).toBeGreaterThan(0)
  }

  it("accepts 10 of 20 concurrent holds if the balance covers 10", async () => {
    await open("ten", 120n)
    const requests = Array.from({ length: 20 }, (_, i) => ({ id: `ten-${i}`, account: "ten", input: 10, output: 1 }))
    const held = await Promise.all(requests.map((request) => post("/holds", request)))
    expect(held.filter(({ status }) => status === 201)).toHaveLength(10)
    expect(held.filter(({ status }) => status === 402)).toHaveLength(10)
    expect(await balanceOf("ten")).toEqual({ posted: 0n, pending: 120n })

    const settled = await Promise.all(requests.map((request) => post("/settlements", request)))
    expect(settled.filter(({ status }) => status === 200)).toHaveLength(10)
    expect(await balanceOf("ten")).toEqual({ posted: 120n, pending: 0n })
  })

  it("settles a request once if five settlements arrive concurrently", async () => {
    await open("once", 100n)
    const request = { id: "once-1", account: "once", input: 10, output: 5 }
    expect(await post("/holds", request)).toEqual({
      status: 201,
      body: { planTokens: "0", paygPico: "20000000" }
    })
    expect((await post("/holds", request)).status).toBe(409)
    const settled = await Promise.all(Array.from({ length: 5 }, () => post("/settlements", { ...request, output: 2 })))
    expect(settled.map(({ status }) => status).sort()).toEqual([200, 404, 404, 404, 404])
    expect(await balanceOf("once")).toEqual({ posted: 14n, pending: 0n })
  })

  it("writes off the amount that the balance does not cover", async () => {
    await open("small", 20n)
    const request = { id: "small-1", account: "small", input: 10, output: 5 }
    expect((await post("/holds", request)).status).toBe(201)
    const { body } = await post("/settlements", { ...request, output: 9 })
    expect(body).toMatchObject({ costPico: "28000000", paygPico: "20000000", writeoffPico: "8000000" })
    expect(await balanceOf("small")).toEqual({ posted: 20n, pending: 0n })
  })

  it("continues after the loss of its database connections", async () => {
    await open("lost", 100n)
    expect((await post("/holds", { id: "lost-1", account: "lost", input: 10, output: 5 })).status).toBe(201)
    await terminateConnections()
    await vi.waitFor(async () => {
      expect((await post("/settlements", { id: "lost-1", account: "lost", input: 10, output: 5 })).status).toBe(200)
    }, 30_000)
  })

  it("continues after a request on a lost connection", async () => {
    await open("unread", 100n)
    const request = { id: "unread-1", account: "unread", input: 10, output: 5 }
    expect((await post("/holds", request)).status).toBe(201)
    service.kill("SIGSTOP")
    const settled = post("/settlements", request)
    await setTimeout(100)
    await terminateConnections()
    service.kill("SIGCONT")
    // The settlement fails on the lost connection, or uses a new one if the service has noticed the loss before.
    expect([200, 500]).toContain((await settled).status)
    await vi.waitFor(async () => {
      expect([200, 404]).toContain((await post("/settlements", request)).status)
    }, 30_000)
    expect(await balanceOf("unread")).toEqual({ posted: 20n, pending: 0n })
  })

  it("refuses unknown accounts, holds and paths", async () => {
    const request = { id: "unknown", account: "unknown", input: 1, output: 1 }
    expect((await post("/holds", request)).status).toBe(402)
    expect((await post("/settlements", request)).status).toBe(404)
    expect((await post("/holds", { ...request, input: -1 })).status).toBe(400)
    expect((await post("/balances", request)).status).toBe(404)
  })
})

describe("docs/embedding.md", () => {
  it("quotes the code of the examples unchanged", async () => {
    const page = await readFile(join(ROOT, "docs/embedding.md"), "utf8")
    const blocks = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = ""]) => code)
    const sources = (await filesOf(join(ROOT, "examples"))).filter((path) => /\/src\/[^/]+\.ts$/.test(path))
    const texts = await Promise.all(sources.map((path) => readFile(path, "utf8")))
    expect(blocks.length).toBeGreaterThan(3)
    expect(blocks.filter((code) => !texts.some((text) => text.includes(code)))).toEqual([])
  })
})
