/**
 * Implements the HTTP side of an image request: reads its headers and its body, reports whether the client has
 * disconnected, and sends the request to a provider.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { ImageConnection, ImageResult, ModelCheck } from "@tollgate/application/images/ImageConnection"
import type { FailedAttempt, RouteError } from "@tollgate/application/inference/RouteAttempts"
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import type { UserId } from "@tollgate/domain/customer/User"
import { IDEMPOTENCY_KEY_HEADER, idempotencyKey } from "@tollgate/domain/images/IdempotencyKey"
import type { ImageOperation, ImageRequest } from "@tollgate/domain/images/ImageRequest"
import { readImageRequest } from "@tollgate/domain/images/ReadImageRequest"
import { InvalidRequest } from "@tollgate/domain/inference/InferenceErrors"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { presentedKey } from "../auth/PresentedKey.ts"
import { announcedBytes, consumeBody, isEncoded } from "../http/RequestBody.ts"
import { boundaryOf, EditForm, type FormError, formTooLarge, MAX_FORM_BYTES, type ParsedForm } from "./EditForm.ts"
import { readGeneration } from "./GenerationBody.ts"
import { attemptImage, type ImageAttemptContext } from "./ImageAttempt.ts"
import { readSource } from "./SourceHeader.ts"

type ReadRequest = ReturnType<ImageConnection<Buffer>["readRequest"]>

export class HttpImageConnection implements ImageConnection<Buffer> {
  readonly requestId: RequestId
  readonly operation: ImageOperation
  readonly presentedKey: ImageConnection<Buffer>["presentedKey"]
  readonly idempotencyKey: ImageConnection<Buffer>["idempotencyKey"]
  readonly acceptedAtMillis = performance.now()
  readonly nowMillis = () => performance.now()
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #context: ImageAttemptContext

  constructor(
    operation: ImageOperation,
    request: IncomingMessage,
    response: ServerResponse,
    context: ImageAttemptContext
  ) {
    this.operation = operation
    this.requestId = context.requestId
    this.presentedKey = presentedKey(request.rawHeaders, request.socket)
    this.idempotencyKey = presentedIdempotencyKey(request)
    this.#request = request
    this.#response = response
    this.#context = context
  }

  readRequest(customer: UserId, checkModel: ModelCheck): ReadRequest {
    this.#context.reservation.assignTo(customer)
    return this.operation === "generate" ? this.#readGeneration() : this.#readEdit(checkModel)
  }

  attempt(request: ImageRequest, candidate: Candidate): Effect.Effect<ImageResult<Buffer>, FailedAttempt<RouteError>> {
    return attemptImage(this.#context, request, candidate)
  }

  gone(): boolean {
    return this.#response.closed || this.#request.socket.destroyed
  }

  /** Reads the JSON body of a generation. The body is small, so the model is checked after the whole body is read. */
  #readGeneration(): ReadRequest {
    return Effect.flatMap(readGeneration(this.#request, this.#context.reservation), (members) =>
      readImageRequest("generate", members, undefined)
    )
  }

  #readEdit(checkModel: ModelCheck): ReadRequest {
    return Effect.gen(this, function* () {
      const { texts, file } = yield* this.#parseForm(checkModel)
      const source = file === undefined ? undefined : yield* readSource(file)
      return yield* readImageRequest("edit", texts, source)
    })
  }

  #parseForm(checkModel: ModelCheck): Effect.Effect<ParsedForm, FormError> {
    if (isEncoded(this.#request.headers)) return Effect.fail(encoded())
    const boundary = boundaryOf(this.#request.headers["content-type"])
    if (Either.isLeft(boundary)) return Effect.fail(boundary.left)
    if (announcedBytes(this.#request.headers) > MAX_FORM_BYTES) return Effect.fail(formTooLarge())
    return Effect.async((resume) => {
      const form = new EditForm(boundary.right, this.#context.reservation, checkModel)
      return Effect.sync(consumeBody(this.#request, form, resume))
    })
  }
}

const encoded = () => new InvalidRequest({ message: "Send the form without content-encoding.", param: null })

/** Reads the idempotency key. Refuses a repeated header, because Node.js would join the values to one key. */
const presentedIdempotencyKey = ({ headersDistinct }: IncomingMessage): ImageConnection<Buffer>["idempotencyKey"] => {
  const [first, second] = headersDistinct[IDEMPOTENCY_KEY_HEADER.toLowerCase()] ?? []
  if (second === undefined) return idempotencyKey(first)
  const message = `Send only one ${IDEMPOTENCY_KEY_HEADER} header.`
  return Either.left(new InvalidRequest({ message, param: IDEMPOTENCY_KEY_HEADER }))
}
