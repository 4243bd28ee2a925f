/**
 * The id of one inference request: made by the gateway, the same in the response headers, the hold, the usage row
 * and the log line. A UUID of version 7, so that rows arrive in time order.
 */
import * as Brand from "effect/Brand"

export type RequestId = string & Brand.Brand<"RequestId">
export const RequestId = Brand.nominal<RequestId>()
