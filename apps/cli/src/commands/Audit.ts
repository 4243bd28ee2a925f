/**
 * `tollgate audit`: every balance recomputed from the journals.
 */
import { Audit } from "@tollgate/application/operations/Audit"
import * as Effect from "effect/Effect"
import { count } from "../terminal/JsonDocument.ts"
import type { Answer } from "../terminal/Output.ts"
import { table } from "../terminal/Table.ts"
import { answering } from "./AnsweringCommand.ts"

export const audit = answering(
  "audit",
  "Recompute every balance from the journals; exit 1 on any difference.",
  {},
  () =>
    Effect.gen(function* () {
      const { checks, figures } = yield* Effect.flatMap(Audit, (books) => books.audit)
      const broken = checks.filter(({ violations }) => violations > 0n)
      const answer: Answer = {
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
          broken.length === 0 ? "Every check holds." : "The books do not balance."
        ].join("\n\n")
      }
      if (broken.length === 0) return answer
      return {
        ...answer,
        trouble: {
          code: "audit_differs",
          message:
            `These checks do not hold: ${broken.map(({ id }) => id).join(", ")}. Take a backup and find the rows ` +
            "before anything is corrected; the journals are append-only, so what happened is still in them."
        }
      }
    })
)

const rowsDiffer = (rows: bigint): string => (rows === 1n ? "1 row differs" : `${rows} rows differ`)
