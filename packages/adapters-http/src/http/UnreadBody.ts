/**
 * Handles request bodies that no handler has read yet, or that no handler reads.
 *
 * A client that sends `Expect: 100-continue` waits with its body until the server accepts the request. If
 * the server refuses the request, the client may still send the body, so the connection cannot be used again.
 */
import type { IncomingMessage, ServerResponse } from "node:http"

interface Expectation {
  readonly response: ServerResponse
  readonly keepAlive: boolean
}

const expectations = new WeakMap<IncomingMessage, Expectation>()

/** Records that the client waits for `100 Continue`. Without {@link acceptBody}, the connection is closed. */
export const expectContinue = (request: IncomingMessage, response: ServerResponse): void => {
  expectations.set(request, { response, keepAlive: response.shouldKeepAlive })
  response.shouldKeepAlive = false
}

/** Tells a client that waits for `100 Continue` to send its body. Must be called before the body is read. */
export const acceptBody = (request: IncomingMessage): void => {
  const expectation = expectations.get(request)
  if (expectation === undefined) return
  expectations.delete(request)
  expectation.response.shouldKeepAlive = expectation.keepAlive
  expectation.response.writeContinue()
}

/** The maximum time in milliseconds for the rest of a body that is discarded. */
const DISCARD_MILLIS = 5_000

/**
 * Limits the time for which Node.js discards the rest of a body after the response. Must be called when the response is
 * complete.
 */
export const limitDiscarding = (request: IncomingMessage): void => {
  if (request.complete) return
  const cut = setTimeout(() => request.socket.destroy(), DISCARD_MILLIS).unref()
  request.once("end", () => clearTimeout(cut))
  request.once("close", () => clearTimeout(cut))
}
