/**
 * Writes the response (an image or an error) to an image request, and waits until the response is sent or the
 * connection is closed. The buffer that contains the image is written in one call, without a copy. A client that is
 * still uploading has a short time to read an error.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import * as Effect from "effect/Effect"
import { writeRefusal } from "../http/Refusal.ts"
import type { WireErrorBody } from "../wire/InferenceErrors.ts"

const JSON_TYPE = { "content-type": "application/json" }

/**
 * Writes an image and waits until the socket has accepted all of it or is closed. The effect is uninterruptible,
 * because written bytes cannot be withdrawn.
 */
export const writeImage = (
  response: ServerResponse,
  body: Buffer,
  headers: Readonly<Record<string, string>>
): Effect.Effect<void> =>
  untilClosed(response, () => {
    response.writeHead(200, { ...JSON_TYPE, "content-length": body.length, ...headers })
    response.end(body)
  })

export const writeImageRefusal = (
  request: IncomingMessage,
  response: ServerResponse,
  refusal: WireErrorBody
): Effect.Effect<void> =>
  untilClosed(response, () =>
    writeRefusal(request, response, refusal, {
      writeHead: (own) => response.writeHead(refusal.status, [...own]),
      discardedBytes: -1
    })
  )

const untilClosed = (response: ServerResponse, write: () => void): Effect.Effect<void> =>
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
