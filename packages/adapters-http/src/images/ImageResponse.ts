/**
 * Writes what an image request comes to, and waits until the client has it: the picture by one write of the memory it is
 * in, or an error, for which a client that is still uploading gets a moment.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import * as Effect from "effect/Effect"
import { writeRefusal } from "../http/Refusal.ts"
import type { WireErrorBody } from "../wire/InferenceErrors.ts"

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

export const writeImageRefusal = (
  request: IncomingMessage,
  response: ServerResponse,
  refusal: WireErrorBody
): Effect.Effect<void> =>
  closing(response, () =>
    writeRefusal(request, response, refusal, {
      writeHead: (own) => response.writeHead(refusal.status, [...own]),
      discardedBytes: -1
    })
  )

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
