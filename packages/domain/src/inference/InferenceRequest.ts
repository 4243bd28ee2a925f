/**
 * An inference request: the id that names it everywhere, and the wire protocol it uses.
 */
import * as Brand from "effect/Brand"

/**
 * Made by the gateway; the same in the response headers, the hold, the usage row and the log line. A UUID of version 7, so
 * that rows are inserted in time order.
 */
export type RequestId = string & Brand.Brand<"RequestId">
export const RequestId = Brand.nominal<RequestId>()

/** The wire protocols a model can be called with. */
export type Protocol = "chat" | "messages" | "responses" | "images"

export const protocols: ReadonlyArray<Protocol> = ["chat", "messages", "responses", "images"]
