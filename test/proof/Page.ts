/** Formats docs/proof.md. */
import { execFileSync } from "node:child_process"
import { availableParallelism, cpus, totalmem } from "node:os"
import type { Result, Scale } from "./Proofs.ts"

const commit = (): string => {
  const git = (...args: ReadonlyArray<string>) => execFileSync("git", args, { encoding: "utf8" }).trim()
  try {
    const changed = git("status", "--porcelain", "--untracked-files=no") === "" ? "" : " with uncommitted changes"
    return `${git("rev-parse", "--short", "HEAD")}${changed}`
  } catch {
    return "unknown"
  }
}

export const proofPage = (results: ReadonlyArray<Result>, scale: Scale): string => {
  const machine = `${availableParallelism()} CPUs (${cpus()[0]?.model ?? "unknown"}), ${Math.round(totalmem() / 2 ** 30)} GiB of memory`
  const rows = results.map(
    ({ passed, proof, seconds }) =>
      `| [${proof.name}](#${proof.name}) | ${proof.promise} | ${proof.wanted(scale)} | ${passed ? "met" : "**not met**"} | ${duration(seconds)} |`
  )
  return `# Proof

A program of this repository tests each guarantee below. \`npm run proof -- --hours 1\` runs all of these programs and writes this page. \`npm test\` runs the same programs with small numbers. A larger value of \`--hours\`, such as 24, only makes the soak longer.

The last run: ${new Date().toISOString().slice(0, 10)}, commit ${commit()}, Node.js ${process.version}, ${machine}.

| Proof | Guarantee | Required | Result | Duration |
|---|---|---|---|---|
${rows.join("\n")}

${results.map(section).join("\n\n")}
`
}

const section = ({ command, figures, passed, proof }: Result): string => {
  const lines = figures.map(([name, value]) => `- ${name}: ${value}`)
  const result = passed ? "" : "\n\nThis proof was not met in the last run."
  return `## ${proof.name}

${proof.promise}${result}

    ${command}

${lines.length > 0 ? lines.join("\n") : "The program recorded no figures."}`
}

const duration = (seconds: number): string => (seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`)
