/**
 * Defines the rows of the error tables whose errors have the plain error body (docs/reference/errors.md#a5):
 *
 *     {"error":{"code","message","request_id","details"?:[{"path","message"}]}}
 */
import type { FieldIssue } from "@tollgate/domain/validation/Validation"
import type * as Effect from "effect/Effect"

export interface ErrorRow<E> {
  readonly status: number
  readonly code: string
  /** Message for the client. States the problem and, if the client can correct it, how. */
  readonly message: (error: E) => string
  readonly details?: (error: E) => ReadonlyArray<FieldIssue>
  readonly headers?: (error: E) => Record<string, string>
  /** Condition under which the error occurs, for the OpenAPI document. */
  readonly meaning: string
  readonly example: E
}

/** The errors of a use case. */
export type FailureOf<UseCase extends (...given: never) => Effect.Effect<unknown, unknown, unknown>> =
  Effect.Effect.Error<ReturnType<UseCase>>

interface Tagged {
  readonly _tag: string
}

/** One row for each error of a surface. */
export type RowsOf<Failure extends Tagged> = {
  readonly [Tag in Failure["_tag"]]: ErrorRow<Extract<Failure, { readonly _tag: Tag }>>
}

/** An error response: its status, its headers in addition to the common headers, and its JSON body. */
export interface ErrorResponse {
  readonly status: number
  readonly code: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: {
    readonly error: {
      readonly code: string
      readonly message: string
      readonly request_id: string
      readonly details?: ReadonlyArray<FieldIssue>
    }
  }
}

export const errorResponse = <E>(
  { status, code, message, details, headers }: ErrorRow<E>,
  error: E,
  requestId: string
): ErrorResponse => {
  const shared = { code, message: message(error), request_id: requestId }
  return {
    status,
    code,
    headers: headers?.(error) ?? {},
    body: { error: details === undefined ? shared : { ...shared, details: details(error) } }
  }
}

/** The request id in the examples of the OpenAPI document. */
export const EXAMPLE_REQUEST_ID = "019a9f0e-8d3b-7c6e-8f1a-2b3c4d5e6f70"

/** An error as the OpenAPI document shows it. */
export interface DocumentedError {
  readonly meaning: string
  readonly example: ErrorResponse
}

export const documented = <E>(row: ErrorRow<E>): DocumentedError => ({
  meaning: row.meaning,
  example: errorResponse(row, row.example, EXAMPLE_REQUEST_ID)
})

export interface ErrorTable<Failure extends Tagged> {
  readonly bodyOf: (error: Failure, requestId: string) => ErrorResponse
  /** Returns the row of an error for the OpenAPI document. */
  readonly documentedError: (tag: Failure["_tag"]) => DocumentedError
}

export const errorTable = <Failure extends Tagged>(rows: RowsOf<Failure>): ErrorTable<Failure> => {
  // TypeScript cannot infer that the row found by an error's tag accepts that error.
  const rowOf = (tag: Failure["_tag"]) => rows[tag] as unknown as ErrorRow<Failure>
  return {
    bodyOf: (error, requestId) => errorResponse(rowOf(error._tag), error, requestId),
    documentedError: (tag) => documented(rowOf(tag))
  }
}
