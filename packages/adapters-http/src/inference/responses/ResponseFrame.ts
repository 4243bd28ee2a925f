/**
 * Events of a responses stream, as they are written: `event:` says what the data says of itself.
 */
import type { JsonObject } from "@tollgate/domain/inference/Json"

export interface ResponseEvent extends JsonObject {
  readonly type: string
}

export const frameOf = (event: ResponseEvent): string => frameWith(event.type, JSON.stringify(event))

/** With data that is JSON. A line break in it stands between tokens, where a blank is as good. */
export const frameWith = (type: string, data: string): string =>
  `event: ${type}\ndata: ${data.includes("\n") ? data.replaceAll("\n", " ") : data}\n\n`
