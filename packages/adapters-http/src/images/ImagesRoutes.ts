/**
 * `POST /v1/images/generations` and `POST /v1/images/edits`: one program a request, from the key to the last byte taken.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { type MadeImage, makeImage } from "@tollgate/application/images/MakeImage"
import { Upstreams } from "@tollgate/application/inference/Upstreams"
import { ImageTooLarge } from "@tollgate/domain/images/ImageErrors"
import type { ImageOperation } from "@tollgate/domain/images/ImageRequest"
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { MemoryReservation } from "../http/MemoryReservation.ts"
import { requestIdOf } from "../http/RequestIds.ts"
import { RelayMetrics } from "../inference/relay/RelayMetrics.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { type ImageError, imageErrorBody } from "../wire/ImageErrors.ts"
import { HttpImageConnection } from "./HttpImageConnection.ts"
import { writeImageRefusal, writePicture } from "./ImageResponse.ts"
import { ImageSettings } from "./ImageSettings.ts"
import { ImagesApi } from "./ImagesApi.ts"

const served = (operation: ImageOperation) =>
  Effect.gen(function* () {
    const http = yield* HttpServerRequest.HttpServerRequest
    const request = NodeHttpServerRequest.toIncomingMessage(http)
    const response = NodeHttpServerRequest.toServerResponse(http)
    const requestId = RequestId(requestIdOf(http))
    const { serviceName, allImageBytes } = yield* ImageSettings
    const counters = yield* RelayMetrics
    const reservation = new MemoryReservation(counters.imageMemory, allImageBytes)
    const createdAtSeconds = Math.floor((yield* Clock.currentTimeMillis) / 1000)
    const client = new HttpImageConnection(operation, request, response, {
      requestId,
      upstreams: yield* Upstreams,
      counters,
      reservation,
      createdAtSeconds
    })

    const tell = (exit: Exit.Exit<MadeImage<Buffer>, ImageError>) => {
      const alarm =
        Exit.isFailure(exit) && !Chunk.isEmpty(Cause.defects(exit.cause))
          ? Effect.logError("a request failed with a defect", { request_id: requestId }, exit.cause)
          : Effect.void
      if (client.gone()) return alarm
      const told = Exit.isSuccess(exit)
        ? writePicture(response, exit.value.picture, { [`x-${serviceName}-billing`]: exit.value.billing })
        : writeImageRefusal(request, response, imageErrorBody(toldOf(operation, exit.cause), requestId))
      return Effect.zipRight(alarm, told)
    }
    let isTaken = false
    response.once("finish", () => {
      // A write that was under way when the connection broke is reported like one that was taken.
      isTaken = !request.socket.destroyed
    })
    const count = Effect.sync(() => {
      counters.openRequests -= 1
      reservation.release()
      const status = response.headersSent ? response.statusCode : 499
      counters.finished({
        protocol: "images",
        status,
        ending: !isTaken ? "left" : status === 200 ? "complete" : "refused",
        ttftMillis: undefined,
        durationMillis: client.nowMillis() - client.acceptedAtMillis
      })
    })

    yield* Effect.uninterruptibleMask((restore) => {
      counters.openRequests += 1
      return Effect.flatMap(Effect.exit(restore(makeImage(client))), tell).pipe(Effect.ensuring(count))
    })
    // Written already, which is seen from the response itself.
    return HttpServerResponse.empty()
  })

/** A model's limit for a form is one for the image in it. Whom draining does not wait for is told to come again. */
const toldOf = (operation: ImageOperation, cause: Cause.Cause<ImageError>): ImageError => {
  const error = Option.getOrElse(
    Cause.failureOption(cause),
    (): ImageError =>
      Cause.isInterruptedOnly(cause) ? new Overloaded({ retryAfterSeconds: 1 }) : { _tag: "InternalError" }
  )
  return operation === "edit" && error._tag === "RequestTooLarge"
    ? new ImageTooLarge({ message: "The image is larger than the model takes. Send a smaller one." })
    : error
}

export const layer = HttpApiBuilder.group(gateway.add(ImagesApi), "images", (handlers) =>
  handlers.handleRaw("createImage", () => served("generate")).handleRaw("createImageEdit", () => served("edit"))
)
