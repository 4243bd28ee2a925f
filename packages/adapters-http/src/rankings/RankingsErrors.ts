/**
 * Defines the error table of `/api/rankings`: one row with status, code and message for each error
 * (docs/reference/errors.md#err-9, docs/reference/errors.md#a5). The file does not compile if an error has no row.
 */
import type { readRankings } from "@tollgate/application/rankings/ReadRankings"
import { InvalidWindow, RankingsDisabled, RankingsUnavailable } from "@tollgate/domain/rankings/RankingsQuery"
import type * as Effect from "effect/Effect"
import { type DocumentedError, errorTable, type RowsOf } from "../wire/ErrorRow.ts"
import { overloaded } from "../wire/SharedErrorRows.ts"

export type RankingsFailure = Effect.Effect.Error<ReturnType<typeof readRankings>>

const rows: RowsOf<RankingsFailure> = {
  InvalidWindow: {
    status: 400,
    code: "invalid_request",
    message: ({ param, allowed }) =>
      `${param} must be given once, as ${allowed.join(", ").replace(/, ([^,]*)$/, " or $1")}.`,
    meaning: "The window or the modality is unknown or is given more than once.",
    example: new InvalidWindow({ param: "window", allowed: ["day", "week", "month", "all"] })
  },
  RankingsDisabled: {
    status: 404,
    code: "not_found",
    message: () => "This service does not publish rankings.",
    meaning: "This deployment does not publish rankings.",
    example: new RankingsDisabled()
  },
  RankingsUnavailable: {
    status: 500,
    code: "internal_error",
    message: () => "The usage data could not be read. Try again in a minute.",
    meaning: "The usage data could not be read.",
    example: new RankingsUnavailable({ reason: "unreadable" })
  },
  Overloaded: overloaded
}

const table = errorTable<RankingsFailure>(rows)

export const rankingsErrorBody = table.bodyOf

export const documentedErrors: ReadonlyArray<DocumentedError> = (
  Object.keys(rows) as ReadonlyArray<RankingsFailure["_tag"]>
).map(table.documentedError)
