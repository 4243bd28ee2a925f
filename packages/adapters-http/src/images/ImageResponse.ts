/**
 * Writes what an image request comes to, and waits until the client has it: the picture by one write of the memory it is
 * in, or an error, for which a client that is still uploading gets a moment.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import * as Effect from "effect/Effect"
import type { WireErrorBody } from "../wire/InferenceErrors.ts"

/** How long a client that is still uploading has to notice that it was refused. */
const LINGER_MILLIS = 5_000

const JSON_TYPE = { "content-type": "application/json" }

/** Ends when the socket took everything, or is closed. What it took cannot be taken back, so nothing interrupts it. */
export const writePicture = (
  response: ServerResponse,
  picture: Buffer,
  headers: Readonly<Record<string, string>>
): Effect.Effect<void> =>
  closing(response, () => {
    response.writeHead(200, { ...JSON_TYPE, "content-length": picture.length, ...headers })
    response.end(picture)
  })

export const writeRefusal = (
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: WireErrorBody
): Effect.Effect<void> =>
  closing(response, () => {
    const length = Buffer.byteLength(body)
    if (request.complete) {
      response.writeHead(status, { ...JSON_TYPE, "content-length": length, ...headers })
      response.end(body)
      return
    }
    response.writeHead(status, { ...JSON_TYPE, "content-length": length, connection: "close", ...headers })
    response.write(body)
    // To close at once would reset the connection, and the client would see that instead of the answer.
    const cut = setTimeout(() => response.destroy(), LINGER_MILLIS)
    response.once("close", () => clearTimeout(cut))
    request.once("end", () => response.end())
    request.resume()
  })

const closing = (response: ServerResponse, write: () => void): Effect.Effect<void> =>
  Effect.uninterruptible(
    Effect.async((resume) => {
      if (response.closed || response.destroyed) {
        resume(Effect.void)
        return
      }
      response.once("close", () => resume(Effect.void))
      write()
    })
  )
