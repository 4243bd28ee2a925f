/**
 * An inference request: the id that names it everywhere, and the wire protocol it uses.
 */
import * as Brand from "effect/Brand"

/**
 * Made by the gateway; the same in the response headers, the hold, the usage row and the log line. A UUID of version 7, so
 * that rows are inserted in time order. It knows no protocol: each protocol derives the ids of its own objects from it.
 */
export type RequestId = string & Brand.Brand<"RequestId">
export const RequestId = Brand.nominal<RequestId>()

/** The 32 hexadecimal digits of an id: protocols put their own prefix before them. */
export const withoutHyphens = (id: RequestId): string => id.replaceAll("-", "")

/** The wire protocols a model can be called with. */
export type Protocol = "chat" | "messages" | "responses" | "images"

export const protocols: ReadonlyArray<Protocol> = ["chat", "messages", "responses", "images"]
