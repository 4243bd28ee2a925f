/**
 * What a supplier sees of a client's headers (docs/reference/inference.md#f4): the version of the protocol and the
 * betas it speaks, as given.
 */

/** What clients mean that name no version. */
const FIRST_VERSION = "2023-06-01"

export const messagesHeadersFor = (
  clientHeaders: NodeJS.Dict<string | Array<string>>,
  streamed: boolean
): Record<string, string> => {
  const beta = given(clientHeaders["anthropic-beta"])
  return {
    "content-type": "application/json",
    accept: streamed ? "text/event-stream" : "application/json",
    // Answers are read here, so they come uncompressed.
    "accept-encoding": "identity",
    "anthropic-version": given(clientHeaders["anthropic-version"]) ?? FIRST_VERSION,
    ...(beta === undefined ? {} : { "anthropic-beta": beta })
  }
}

/** An empty header is none. */
const given = (header: string | Array<string> | undefined): string | undefined =>
  (Array.isArray(header) ? header.join(",") : header) || undefined
