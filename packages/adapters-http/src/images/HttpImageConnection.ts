/**
 * The client of an image request as it is over HTTP: its headers, its body, its connection, and the supplier it is
 * served by.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Capable, ImageAnswer, ImageConnection } from "@tollgate/application/images/ImageConnection"
import type { FailedAttempt } from "@tollgate/application/inference/RouteAttempts"
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import { IDEMPOTENCY_KEY_HEADER, idempotencyKey } from "@tollgate/domain/images/IdempotencyKey"
import type { ImageOperation, ImageRequest } from "@tollgate/domain/images/ImageRequest"
import { readImageRequest } from "@tollgate/domain/images/ReadImageRequest"
import { InvalidRequest } from "@tollgate/domain/inference/InferenceErrors"
import type { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { presentedKey } from "../auth/PresentedKey.ts"
import { announcedBytes, consumeBody, isEncoded } from "../http/RequestBody.ts"
import { type Asking, askSupplier } from "./AskUpstream.ts"
import { EditForm, FORM_BYTES, type FormFault, formFault, formTooLarge, type ReadForm } from "./EditForm.ts"
import { readGeneration } from "./GenerationBody.ts"
import { readSource } from "./SourceHeader.ts"

type TakeRequest = ReturnType<ImageConnection<Buffer>["takeRequest"]>

export class HttpImageConnection implements ImageConnection<Buffer> {
  readonly requestId: RequestId
  readonly operation: ImageOperation
  readonly presentedKey: ImageConnection<Buffer>["presentedKey"]
  readonly idempotencyKey: ImageConnection<Buffer>["idempotencyKey"]
  readonly acceptedAtMillis = performance.now()
  readonly nowMillis = () => performance.now()
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #asking: Asking

  constructor(operation: ImageOperation, request: IncomingMessage, response: ServerResponse, asking: Asking) {
    this.operation = operation
    this.requestId = asking.requestId
    this.presentedKey = presentedKey(request.rawHeaders, request.socket)
    this.idempotencyKey = presentedIdempotencyKey(request)
    this.#request = request
    this.#response = response
    this.#asking = asking
  }

  takeRequest(capable: Capable): TakeRequest {
    return this.operation === "generate" ? this.#takeGeneration() : this.#takeEdit(capable)
  }

  ask(request: ImageRequest, candidate: Candidate): Effect.Effect<ImageAnswer<Buffer>, FailedAttempt> {
    return askSupplier(this.#asking, request, candidate)
  }

  gone(): boolean {
    return this.#response.closed || this.#request.socket.destroyed
  }

  /** No file is read for it: whether the model can is asked by the use case. */
  #takeGeneration(): TakeRequest {
    return Effect.flatMap(readGeneration(this.#request, this.#asking.reservation), (members) =>
      readImageRequest("generate", members, undefined)
    )
  }

  #takeEdit(capable: Capable): TakeRequest {
    return Effect.gen(this, function* () {
      const { texts, file } = yield* this.#readForm(capable)
      const source = file === undefined ? undefined : yield* readSource(file)
      return yield* readImageRequest("edit", texts, source)
    })
  }

  #readForm(capable: Capable): Effect.Effect<ReadForm, FormFault> {
    const contentType = this.#request.headers["content-type"] ?? ""
    const fault = isEncoded(this.#request.headers) ? encoded() : formFault(contentType)
    if (fault !== undefined) return Effect.fail(fault)
    if (announcedBytes(this.#request.headers) > FORM_BYTES) return Effect.fail(formTooLarge())
    return Effect.async((resume) => {
      const form = new EditForm(contentType, this.#asking.reservation, capable)
      return Effect.sync(consumeBody(this.#request, form, resume))
    })
  }
}

const encoded = () => new InvalidRequest({ message: "Send the form without content-encoding.", param: null })

/** A key that is sent twice may be two keys; Node would join them. */
const presentedIdempotencyKey = ({ headersDistinct }: IncomingMessage): ImageConnection<Buffer>["idempotencyKey"] => {
  const [first, second] = headersDistinct[IDEMPOTENCY_KEY_HEADER.toLowerCase()] ?? []
  if (second === undefined) return idempotencyKey(first)
  const message = `Send one ${IDEMPOTENCY_KEY_HEADER}.`
  return Either.left(new InvalidRequest({ message, param: IDEMPOTENCY_KEY_HEADER }))
}
