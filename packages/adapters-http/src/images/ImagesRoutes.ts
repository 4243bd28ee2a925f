/**
 * Serves `POST /v1/images/generations` and `POST /v1/images/edits`. One effect handles a request, from its
 * authentication until the metrics count it.
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { CurrentCatalog } from "@tollgate/application/catalog/Catalogs"
import { ImageRequests } from "@tollgate/application/images/ImageRequests"
import { type MadeImage, makeImage } from "@tollgate/application/images/MakeImage"
import { ApiKeyAuthenticator } from "@tollgate/application/inference/ApiKeyAuthenticator"
import { RequestTraces } from "@tollgate/application/inference/RequestTrace"
import { Upstreams } from "@tollgate/application/inference/Upstreams"
import { Traffic } from "@tollgate/application/ledger/Traffic"
import { ImageTooLarge } from "@tollgate/domain/images/ImageErrors"
import type { ImageOperation } from "@tollgate/domain/images/ImageRequest"
import { Overloaded } from "@tollgate/domain/inference/InferenceErrors"
import { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { errorOfDefect, logDefect } from "../http/Defects.ts"
import { MemoryReservation } from "../http/MemoryReservation.ts"
import { requestIdOf } from "../http/RequestIds.ts"
import { withOnly } from "../http/RouteServices.ts"
import { RelayMetrics } from "../inference/relay/RelayMetrics.ts"
import { gateway } from "../openapi/GatewayDocument.ts"
import { type ImageError, imageErrorBody } from "../wire/ImageErrors.ts"
import { ProviderSecrets } from "../wire/ProviderSecrets.ts"
import { HttpImageConnection } from "./HttpImageConnection.ts"
import { writeImage, writeImageRefusal } from "./ImageResponse.ts"
import { ImagesApi } from "./ImagesApi.ts"

export interface ImageSettingsValues {
  /** Service name in the header `x-<service>-billing`. */
  readonly serviceName: string
  /** Maximum total bytes in memory for the bodies, source images and responses of all image requests. */
  readonly allImageBytes: number
}

export const defaultSettings: ImageSettingsValues = { serviceName: "tollgate", allImageBytes: 512 * 1024 * 1024 }

export class ImageSettings extends Context.Reference<ImageSettings>()("@tollgate/adapters-http/ImageSettings", {
  defaultValue: () => defaultSettings
}) {}

const serve = (operation: ImageOperation) =>
  Effect.gen(function* () {
    const http = yield* HttpServerRequest.HttpServerRequest
    const request = NodeHttpServerRequest.toIncomingMessage(http)
    const response = NodeHttpServerRequest.toServerResponse(http)
    const requestId = RequestId(requestIdOf(http))
    const { serviceName, allImageBytes } = yield* ImageSettings
    const counters = yield* RelayMetrics
    const reservation = new MemoryReservation(counters.imageMemory, allImageBytes)
    const createdAtSeconds = Math.floor((yield* Clock.currentTimeMillis) / 1000)
    const upstreams = yield* Upstreams
    const client = new HttpImageConnection(operation, request, response, {
      requestId,
      upstreams,
      counters,
      reservation,
      createdAtSeconds,
      secrets: new ProviderSecrets((yield* CurrentCatalog).get, upstreams)
    })

    const respond = (exit: Exit.Exit<MadeImage<Buffer>, ImageError>) => {
      const log =
        Exit.isFailure(exit) && !Chunk.isEmpty(Cause.defects(exit.cause))
          ? logDefect(requestId, exit.cause)
          : Effect.void
      if (client.gone()) return log
      const written = Exit.isSuccess(exit)
        ? writeImage(response, exit.value.image, { [`x-${serviceName}-billing`]: exit.value.billing })
        : writeImageRefusal(request, response, imageErrorBody(errorOf(operation, exit.cause), requestId))
      return Effect.zipRight(log, written)
    }
    let isDelivered = false
    response.once("finish", () => {
      // Node.js also emits `finish` if the connection is reset during the last write. In this case the socket is
      // already destroyed.
      isDelivered = !request.socket.destroyed
    })
    const count = Effect.sync(() => {
      counters.openRequests -= 1
      reservation.release()
      const status = response.headersSent ? response.statusCode : 499
      counters.finished({
        protocol: "images",
        status,
        ending: !isDelivered ? "left" : status === 200 ? "complete" : "refused",
        ttftMillis: undefined,
        durationMillis: client.nowMillis() - client.acceptedAtMillis
      })
    })

    yield* Effect.uninterruptibleMask((restore) => {
      counters.openRequests += 1
      return Effect.flatMap(Effect.exit(restore(makeImage(client))), respond).pipe(Effect.ensuring(count))
    })
    // The response is already written, or the client has disconnected. In both cases this empty response is not sent.
    return HttpServerResponse.empty()
  })

/**
 * Returns the error for the client. If a provider refuses the multipart form of an edit request as too large, the error
 * names the image, because the other fields of the form are small. If the shutdown of the server interrupts a request,
 * the error states that the client can repeat the request, which another node can then handle.
 */
const errorOf = (operation: ImageOperation, cause: Cause.Cause<ImageError>): ImageError => {
  const error = Option.getOrElse(
    Cause.failureOption(cause),
    (): ImageError => (Cause.isInterruptedOnly(cause) ? new Overloaded({ retryAfterSeconds: 1 }) : errorOfDefect(cause))
  )
  return operation === "edit" && error._tag === "RequestTooLarge"
    ? new ImageTooLarge({ message: "The image has more bytes than the model accepts. Send an image of fewer bytes." })
    : error
}

export const layer = HttpApiBuilder.group(gateway.add(ImagesApi), "images", (handlers) =>
  handlers.handleRaw("createImage", () => serve("generate")).handleRaw("createImageEdit", () => serve("edit"))
).pipe(
  withOnly(
    ApiKeyAuthenticator,
    CurrentCatalog,
    ImageRequests,
    ImageSettings,
    RelayMetrics,
    RequestTraces,
    Traffic,
    Upstreams
  )
)
