/**
 * The ids of requests: made here for every request, whatever the client sends. UUIDs of version 7, so that the rows
 * they name arrive in time order.
 */
import { randomFillSync } from "node:crypto"
import type { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { RequestId } from "@tollgate/domain/inference/RequestId"

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))
const RANDOM_BYTES_PER_ID = 10
/** Random bytes are drawn for many ids at once: one system call for each would cost more than the id. */
const IDS_PER_DRAW = 256

export class RequestIds {
  readonly #nowMillis: () => number
  readonly #random = new Uint8Array(RANDOM_BYTES_PER_ID * IDS_PER_DRAW)
  #used = this.#random.length

  constructor(nowMillis: () => number) {
    this.#nowMillis = nowMillis
  }

  next(): RequestId {
    if (this.#used === this.#random.length) {
      randomFillSync(this.#random)
      this.#used = 0
    }
    const millis = this.#nowMillis().toString(16).padStart(12, "0")
    const version = 0x70 | (this.#byte() & 0x0f)
    const a = hex[version] + this.#hex()
    const variant = 0x80 | (this.#byte() & 0x3f)
    const b = hex[variant] + this.#hex()
    const c = this.#hex() + this.#hex() + this.#hex() + this.#hex() + this.#hex() + this.#hex()
    return RequestId(`${millis.slice(0, 8)}-${millis.slice(8)}-${a}-${b}-${c}`)
  }

  #byte(): number {
    return this.#random[this.#used++] as number
  }

  #hex(): string {
    return hex[this.#byte()] as string
  }
}

/** The id the server gave this request: it stands on the response from the start. */
export const requestIdOf = (request: HttpServerRequest): string =>
  String(NodeHttpServerRequest.toServerResponse(request).getHeader("x-request-id"))
