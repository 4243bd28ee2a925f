/**
 * Replaces the error texts of functions and triggers in a database that an earlier release has created. A new database
 * has the new texts already, because the earlier migrations contain them, so this migration changes nothing there.
 *
 * The statements are those of the earlier migrations, with `CREATE OR REPLACE`. The replacement of a trigger blocks
 * only writes to the table of the trigger, until the commit.
 */
import { foundation } from "./0001_foundation.ts"
import { staleDecisions } from "./0002_stale_decisions.ts"
import { resellerProgramme } from "./0003_reseller_programme.ts"
import { settlementReferences } from "./0005_settlement_references.ts"
import { images } from "./0006_images.ts"
import { secondPayments } from "./0008_second_payments.ts"
import { operatorSessions } from "./0015_operator_sessions.ts"
import { topUpOperations } from "./0017_topup_operations.ts"

/** Matches a function whose body contains an error text, and a trigger that passes an error text to such a function. */
const WITH_TEXT = /CREATE (?:FUNCTION refuse_\w+\(.*?\$\$;|TRIGGER [^;]*EXECUTE FUNCTION refuse_because\([^)]*\);)/gs

const replacements = [
  foundation,
  staleDecisions,
  resellerProgramme,
  settlementReferences,
  images,
  secondPayments,
  operatorSessions,
  topUpOperations
]
  .flatMap((statements) => statements.match(WITH_TEXT) ?? [])
  .map((statement) => statement.replace("CREATE", "CREATE OR REPLACE"))

export const refusalTexts = /* sql */ `
DO $do$
BEGIN
  IF EXISTS (SELECT FROM pg_proc WHERE oid = 'refuse_change'::regproc AND prosrc LIKE '%is append-only%') THEN
    ${replacements.join("\n    ")}
  END IF;
END $do$;
`
