/**
 * Starts the slowest test files first, so that no slow file runs alone at the end while the other cores are idle.
 * Without the durations of an earlier run, Vitest starts the largest files first, but some short files take long.
 */
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** The files that take more than five seconds, slowest first. A file that is missing here only starts later. */
const SLOW_FILES: ReadonlyArray<string> = [
  "simulation/Simulation",
  "faults/Nodes",
  "e2e/Console",
  "fuzz/Fuzz",
  "e2e/Workers",
  "e2e/ConsolePages",
  "e2e/OperatorConsole",
  "e2e/OfficialClientsOfNpmStart",
  "e2e/Start",
  "embedded-postgres/EmbeddedPostgres",
  "adapters-postgres/ledger/PgInferenceLedger.keyLocks",
  "e2e/DocumentedRequests",
  "faults/CrashDatabase",
  "e2e/RankingsPage",
  "adapters-postgres/ledger/PgInferenceLedger.locks",
  "e2e/ConsoleDelays",
  "e2e/Shutdown",
  "e2e/ResellerTopUps",
  "e2e/Story",
  "faults/CrashReseller",
  "faults/Crash",
  "e2e/ResellerAccess",
  "adapters-http/images/ImagesRoutes",
  "adapters-http/server/RawConnections",
  "faults/Overspend",
  "e2e/DocumentationPage",
  "adapters-postgres/reseller/ResellerProgramme.interleavings",
  "adapters-http/inference/relay/HostileProviders",
  "application/background/NodeHeartbeat",
  "faults/EarlyCall",
  "adapters-postgres/images/PgImageRequests",
  "deploy/Monitoring",
  "faults/DatabaseUnavailable",
  "adapters-postgres/operations/PgAudit",
  "e2e/Traces",
  "adapters-postgres/mint/PgMints",
  "faults/ResponsesFaults",
  "adapters-postgres/rankings/PgUsageRollUps",
  "adapters-http/inference/relay/ClientResponse",
  "cli/commands/TopUps",
  "adapters-http/server/Drain",
  "deploy/GoingLive",
  "faults/Fallback",
  "adapters-postgres/client/ResponseTimeout",
  "e2e/ImageMemory",
  "adapters-postgres/ledger/PgInferenceLedger.faults",
  "e2e/Surface",
  "faults/MessagesFaults",
  "faults/Images",
  "adapters-http/auth/ArgonPasswordHasher",
  "e2e/Responses",
  "adapters-postgres/topup/PgTopUpOrders"
]

const rankOf = ({ moduleId }: TestSpecification): number => {
  const rank = SLOW_FILES.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`))
  return rank === -1 ? SLOW_FILES.length : rank
}

export class SlowFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    return (await super.sort(files)).sort((one, other) => rankOf(one) - rankOf(other))
  }
}
