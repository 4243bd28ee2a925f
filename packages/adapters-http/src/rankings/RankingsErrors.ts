/**
 * Defines the error table of `/api/rankings`: one row with status, code and message for each error
 * (docs/reference/errors.md#err-9, docs/reference/errors.md#a5). The file does not compile if an error has no row.
 */
import type { readRankings } from "@tollgate/application/rankings/ReadRankings"
import { InvalidWindow, RankingsDisabled, RankingsUnavailable } from "@tollgate/domain/rankings/RankingsQuery"
import type * as Effect from "effect/Effect"

export type RankingsFailure = Effect.Effect.Error<ReturnType<typeof readRankings>>

interface Row<E> {
  readonly status: number
  readonly code: string
  /** Message for the client, which states what happened and what to do. */
  readonly message: (error: E) => string
  /** Condition under which the error occurs, for the OpenAPI document. */
  readonly meaning: string
  readonly example: E
}

type Rows = { readonly [Tag in RankingsFailure["_tag"]]: Row<Extract<RankingsFailure, { readonly _tag: Tag }>> }

const rows: Rows = {
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
  }
}

export interface RankingsErrorResponse {
  readonly status: number
  readonly body: {
    readonly error: { readonly code: string; readonly message: string; readonly request_id: string }
  }
}

export const rankingsErrorBody = (failure: RankingsFailure, requestId: string): RankingsErrorResponse => {
  // TypeScript cannot infer that the row found by an error's tag accepts that error.
  const { status, code, message } = rows[failure._tag] as Row<RankingsFailure>
  return { status, body: { error: { code, message: message(failure), request_id: requestId } } }
}

export const documentedRows = Object.values(rows) as ReadonlyArray<Row<RankingsFailure>>
