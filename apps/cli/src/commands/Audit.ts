/**
 * Defines `tollgate audit`, which recomputes every balance from the journals and checks the other rules of the ledger.
 */
import { Audit } from "@tollgate/application/operations/Audit"
import * as Effect from "effect/Effect"
import type { Report } from "../terminal/Output.ts"
import { count } from "../terminal/Output.ts"
import { table } from "../terminal/Table.ts"
import { reportCommand } from "./ReportCommand.ts"

export const audit = reportCommand(
  "audit",
  "Recompute every balance from the journals, and check the other rules of the ledger. Exits with 1 if a check fails.",
  {},
  () =>
    Effect.gen(function* () {
      const { checks, figures } = yield* Effect.flatMap(Audit, ({ audit }) => audit)
      const broken = checks.filter(({ violations }) => violations > 0n)
      const report: Report = {
        document: {
          ok: broken.length === 0,
          checks: checks.map(({ id, invariant, violations }) => ({
            id,
            invariant,
            ok: violations === 0n,
            violations: count(violations)
          })),
          figures: Object.fromEntries(figures.map(({ name, value }) => [name, value]))
        },
        text: [
          table(
            [
              { heading: "result", cell: ({ violations }) => (violations === 0n ? "ok" : rowsDiffer(violations)) },
              { heading: "check", cell: ({ id }) => id },
              { heading: "invariant", cell: ({ invariant }) => invariant }
            ],
            checks
          ),
          table(
            [
              { heading: "figure", cell: ({ name }) => name.replaceAll("_", " ") },
              { heading: "value", cell: ({ value }) => value, align: "right" }
            ],
            figures
          ),
          broken.length === 0 ? "Every check passes." : "The ledger is inconsistent."
        ].join("\n\n")
      }
      if (broken.length === 0) return report
      return {
        ...report,
        problem: {
          code: "audit_differs",
          message:
            `These checks fail: ${broken.map(({ id }) => id).join(", ")}. Take a backup and find the wrong rows before you ` +
            "correct anything. The journals are append-only, so they still contain the full history."
        }
      }
    })
)

const rowsDiffer = (rows: bigint): string => (rows === 1n ? "1 row differs" : `${rows} rows differ`)
