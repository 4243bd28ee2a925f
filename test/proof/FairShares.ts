/**
 * Proves that one client, one reseller or one provider cannot prevent the service for others. During each
 * attack the chats of another customer get status 200, and the 99th percentile of their latency is at most twice that
 * of the quiet period. Exits with 1 if one of these conditions is not met. The server must be built.
 *
 *     node --conditions=source --import tsx test/proof/FairShares.ts [--seconds 10] [--only TEXT]
 *
 * Each attack runs twice, each time after a quiet period, so that a change of the machine's load affects quiet periods
 * and attacks alike. The upstream of the measured chats responds immediately, because the response time of a real
 * provider would hide a delay of the gateway.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { startBenchProcess } from "../bench/BenchProcess.ts"
import { isBuilt } from "../bench/Tollgate.ts"
import { recordFigures } from "../support/Figures.ts"
import { positiveNumber, readProgram, text } from "../support/Program.ts"
import { ChatProbe } from "./ChatProbe.ts"
import { type AttackName, attackNames, type Outcomes } from "./FairAttacks.ts"
import { type FairDeployment, startFairDeployment } from "./FairDeployment.ts"

const MAX_RATIO = 2
const ROUNDS = 2

const { only = "", seconds = 10 } = readProgram({ seconds: positiveNumber("SECONDS"), only: text("PART") }).values
const periodMillis = seconds * 1_000

interface Result {
  readonly attack: AttackName
  readonly chats: number
  readonly served: number
  readonly quietMillis: number
  readonly underAttackMillis: number
  readonly otherReseller: string
  readonly outcomes: string
}

/** Counts how many requests of another reseller, one every 250 ms, get status 200 within 2 seconds. */
const readAsOtherReseller = ({ otherReseller, port }: FairDeployment) => {
  let sent = 0
  let served = 0
  const timer = setInterval(() => {
    sent += 1
    fetch(`http://127.0.0.1:${port}/api/reseller/balance`, {
      headers: { authorization: `Bearer ${otherReseller.token}` },
      signal: AbortSignal.timeout(2_000)
    })
      .then(async (response) => {
        await response.text()
        if (response.status === 200) served += 1
      })
      .catch(() => {})
  }, 250)
  return async () => {
    clearInterval(timer)
    await pause(2_100)
    return { sent, served }
  }
}

const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

const shown = (outcomes: Outcomes): string =>
  Object.entries(outcomes)
    .map(([status, count]) => `${status}: ${count}`)
    .join(", ") || "none"

const table = (results: ReadonlyArray<Result>): string => {
  const rows = [
    [
      "Attack",
      "Chats with status 200",
      "p99 quiet",
      "p99 under attack",
      "Ratio",
      "Other reseller's reads",
      "Responses to the attack"
    ],
    ...results.map((result) => [
      result.attack,
      `${result.served} of ${result.chats}`,
      `${result.quietMillis.toFixed(1)} ms`,
      `${result.underAttackMillis.toFixed(1)} ms`,
      (result.underAttackMillis / result.quietMillis).toFixed(2),
      result.otherReseller,
      result.outcomes
    ])
  ]
  const widths = rows[0]?.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0))) ?? []
  const line = (row: ReadonlyArray<string>) => `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(" | ")} |`
  const [header = [], ...body] = rows
  return [line(header), `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`, ...body.map(line)].join("\n")
}

const isMet = ({ served, chats, quietMillis, underAttackMillis }: Result): boolean =>
  served === chats && underAttackMillis <= MAX_RATIO * quietMillis

const figuresOf = ({ served, otherReseller, chats, quietMillis, underAttackMillis }: Result): string =>
  `p99 ${quietMillis.toFixed(1)} ms quiet, ${underAttackMillis.toFixed(1)} ms under attack; ` +
  `${served} of ${chats} chats and ${otherReseller} reads of another reseller were served`

const measure = async (
  attack: AttackName,
  deployment: FairDeployment,
  attacker: Awaited<ReturnType<typeof startBenchProcess>>
): Promise<Result> => {
  const probe = new ChatProbe(deployment.port, deployment.key)
  const { stop: _, ...target } = deployment
  const watched = { sent: 0, served: 0 }
  const outcomes: Record<string, number> = {}
  for (let round = 0; round < ROUNDS; round++) {
    await probe.during("quiet", periodMillis)
    await attacker.request({ command: "start", attack, target })
    const otherReseller = readAsOtherReseller(deployment)
    await probe.during("attack", periodMillis)
    const { sent, served } = await otherReseller()
    watched.sent += sent
    watched.served += served
    for (const [status, count] of Object.entries(await attacker.request<Outcomes>({ command: "stop" })))
      outcomes[status] = (outcomes[status] ?? 0) + count
    await pause(3_000)
  }
  probe.close()
  return {
    attack,
    chats: probe.sent("attack"),
    served: probe.served("attack"),
    quietMillis: probe.p99Millis("quiet"),
    underAttackMillis: probe.p99Millis("attack"),
    otherReseller: `${watched.served} of ${watched.sent}`,
    outcomes: shown(outcomes)
  }
}

const main = async (): Promise<void> => {
  if (!isBuilt()) throw new Error("the server is not built; run: npm run build")
  const directory = mkdtempSync(join(tmpdir(), "tollgate-proof-"))
  const upstream = await startBenchProcess<number>("MockUpstream.ts", undefined)
  const attacker = await startBenchProcess<number>("../proof/FairAttacker.ts", undefined)
  const deployment = await startFairDeployment(upstream.ready, attacker.ready, directory)
  const results: Array<Result> = []
  try {
    const warmUp = new ChatProbe(deployment.port, deployment.key)
    await warmUp.during("quiet", 5_000)
    warmUp.close()
    for (const attack of attackNames.filter((name) => name.includes(only))) {
      const result = await measure(attack, deployment, attacker)
      results.push(result)
      console.error(`${isMet(result) ? "met" : "NOT MET"}: ${attack}`)
      recordFigures({ [`${isMet(result) ? "met" : "not met"}: ${attack}`]: figuresOf(result) })
    }
  } finally {
    await attacker.stop()
    await deployment.stop()
    await upstream.stop()
    rmSync(directory, { recursive: true, force: true })
  }
  console.log(table(results))
  if (!results.every(isMet)) process.exitCode = 1
}

await main()
