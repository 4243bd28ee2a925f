/**
 * Generates the request ids. A client cannot choose the id. The ids are UUIDs of version 7, which increase with time,
 * so that new database rows are added at the end of their index.
 */
import { randomFillSync } from "node:crypto"
import type { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { RequestId } from "@tollgate/domain/inference/InferenceRequest"
import { RANDOM_BYTES_PER_UUID, uuidV7 } from "@tollgate/domain/operations/UuidV7"

/** The number of ids for which random bytes are drawn together, because one system call for each id would be slow. */
const IDS_PER_DRAW = 256

export class RequestIds {
  readonly #nowMillis: () => number
  readonly #random = new Uint8Array(RANDOM_BYTES_PER_UUID * IDS_PER_DRAW)
  #used = this.#random.length

  constructor(nowMillis: () => number) {
    this.#nowMillis = nowMillis
  }

  next(): RequestId {
    if (this.#used === this.#random.length) {
      randomFillSync(this.#random)
      this.#used = 0
    }
    const offset = this.#used
    this.#used += RANDOM_BYTES_PER_UUID
    return RequestId(uuidV7(this.#nowMillis(), this.#random, offset))
  }
}

/** Returns the request id, which the server sets on the response before it handles the request. */
export const requestIdOf = (request: HttpServerRequest): string =>
  String(NodeHttpServerRequest.toServerResponse(request).getHeader("x-request-id"))
