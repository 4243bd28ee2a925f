/** Formats docs/proof.md. */
import { execFileSync } from "node:child_process"
import { availableParallelism, cpus, totalmem } from "node:os"
import { proofs, type Result, type Scale } from "./Proofs.ts"

const commit = (): string => {
  const git = (...args: ReadonlyArray<string>) => execFileSync("git", args, { encoding: "utf8" }).trim()
  try {
    const changed =
      git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs/proof.md") === ""
        ? ""
        : " with uncommitted changes"
    return `${git("rev-parse", "--short", "HEAD")}${changed}`
  } catch {
    return "unknown"
  }
}

/** Read at the start, because the checkout can change during a long run. */
const COMMIT = commit()

/**
 * Returns docs/proof.md with these results. The rows and sections of proofs that did not run are taken from the
 * existing page, so that one proof can be repeated alone.
 */
export const proofPage = (existing: string, results: ReadonlyArray<Result>, scale: Scale): string => {
  const rows = byName(existing.split("\n"), /^\| \[([\w-]+)\]/)
  const sections = byName(existing.split(/\n+(?=## )/), /^## ([\w-]+)\n/)
  for (const result of results) {
    rows.set(result.proof.name, rowOf(result, scale))
    sections.set(result.proof.name, sectionOf(result))
  }
  const shown = (texts: ReadonlyMap<string, string>) => proofs.flatMap(({ name }) => texts.get(name) ?? [])
  return `# Proof

Each guarantee below is tested by a program of this repository. \`npm run proof -- --hours 1\` runs all of these programs and writes this page. \`npm run proof -- --only NAME\` runs one program and writes its part of this page. \`npm test\` tests most of these guarantees with small numbers, but does not run hostile-bodies, fair-shares and soak. A larger value of \`--hours\`, such as 24, makes the soak longer, and gives kill-9, database-faults, fuzz and simulation more time to reach their numbers.

| Proof | Guarantee | Required | Result | Duration | Last run |
|---|---|---|---|---|---|
${shown(rows).join("\n")}

${shown(sections).join("\n\n")}
`
}

/** Returns the parts that begin with the pattern, by the name that is its first group. */
const byName = (parts: ReadonlyArray<string>, pattern: RegExp): Map<string, string> =>
  new Map(parts.flatMap((part) => (pattern.test(part) ? [[pattern.exec(part)?.[1] ?? "", part.trimEnd()]] : [])))

const rowOf = ({ passed, proof, seconds }: Result, scale: Scale): string => {
  const lastRun = `${new Date().toISOString().slice(0, 10)}, ${COMMIT}`
  const result = passed ? "met" : "**not met**"
  return `| [${proof.name}](#${proof.name}) | ${proof.promise} | ${proof.required(scale)} | ${result} | ${duration(seconds)} | ${lastRun} |`
}

const sectionOf = ({ command, figures, passed, proof }: Result): string => {
  const lines = figures.map(([name, value]) => `- ${name}: ${value}`)
  return `## ${proof.name}

${proof.promise}${passed ? "" : "\n\nThis proof was not met in the last run."}

    ${command}

${lines.length > 0 ? lines.join("\n") : "The program recorded no figures."}

Measured with Node.js ${process.version} on ${machine()}.`
}

const machine = (): string =>
  `${availableParallelism()} CPUs (${cpus()[0]?.model ?? "unknown"}) with ${Math.round(totalmem() / 2 ** 30)} GiB of memory`

const duration = (seconds: number): string => (seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`)
