/**
 * Prepares a test run: starts one Postgres with a migrated template database, and creates a folder for bundles.
 * The databases of the suites are copies of the template; see `TestDatabase`.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import * as PgPool from "@tollgate/adapters-postgres/client/PgPool"
import * as PgSettings from "@tollgate/adapters-postgres/client/PgSettings"
import { migrate } from "@tollgate/adapters-postgres/migrations/Migrations"
import * as EmbeddedPostgres from "@tollgate/embedded-postgres/EmbeddedPostgres"
import { Effect, Exit, Layer, Scope } from "effect"
import type { TestProject } from "vitest/node"
import { clusterParent } from "./ClusterParent.ts"
import { administer, TEMPLATE } from "./TestCluster.ts"

const CACHE = resolve(import.meta.dirname, "../../node_modules/.cache/tollgate")

export default async function setup(project: TestProject) {
  const directory = mkdtempSync(join(clusterParent(), "tollgate-test-"))
  const scope = Effect.runSync(Scope.make())
  mkdirSync(CACHE, { recursive: true })
  const bundles = mkdtempSync(join(CACHE, "bundles-"))
  const checkedReplies = join(bundles, "checked-replies")
  writeFileSync(checkedReplies, "")
  let socketDir = directory
  const tearDown = async () => {
    const counts = readFileSync(checkedReplies, "utf8").split("\n").map(Number)
    const replies = counts.reduce((sum, count) => sum + count, 0)
    if (replies > 0) console.log(`${replies} replies were compared with the OpenAPI document.`)
    await Effect.runPromise(Scope.close(scope, Exit.void))
    for (const path of [directory, socketDir, bundles]) rmSync(path, { recursive: true, force: true })
  }
  const setUp = Effect.gen(function* () {
    const cluster = yield* EmbeddedPostgres.start({
      directory,
      durable: false,
      parameters: { max_connections: "400", autovacuum: "off" }
    })
    socketDir = cluster.socketDir
    yield* administer(socketDir, `CREATE DATABASE ${TEMPLATE}`)
    const settings = PgSettings.layer(PgSettings.fromSocket(socketDir, TEMPLATE))
    yield* Effect.provide(migrate(), PgPool.layer().pipe(Layer.provide(settings)))
  })
  try {
    await Effect.runPromise(Scope.extend(setUp, scope))
  } catch (cause) {
    await tearDown()
    throw cause
  }
  project.provide("postgresSocketDir", socketDir)
  project.provide("bundles", bundles)
  project.provide("checkedReplies", checkedReplies)
  return tearDown
}
