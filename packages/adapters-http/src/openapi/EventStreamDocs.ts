/**
 * An operation that answers with JSON or with a stream of events, as the request has it: one status with two content
 * types is more than the library can say.
 */
export interface EventStreamDocs {
  readonly description: string
  /** The events of a short stream, as they go over the wire, without the blank lines between them. */
  readonly example: ReadonlyArray<string>
}

export const withEventStream =
  ({ description, example }: EventStreamDocs) =>
  (operation: Record<string, unknown>): Record<string, unknown> => {
    const responses = operation.responses as Record<string, { readonly content: object }>
    const ok = responses["200"]
    const stream = { schema: { type: "string", description }, example: [...example, ""].join("\n\n") }
    const content = { ...ok?.content, "text/event-stream": stream }
    return { ...operation, responses: { ...responses, "200": { ...ok, content } } }
  }
