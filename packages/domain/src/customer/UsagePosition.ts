/**
 * Where an item stands among settled usage: by the time it was settled, then by its request.
 *
 * The time is in whole microseconds, as the database keeps it: rounded to milliseconds, a page that begins after an
 * item would leave out or repeat its neighbours.
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { RequestId } from "../inference/RequestId.ts"

export interface UsagePosition {
  /** Microseconds since 1970. */
  readonly settledAtMicros: bigint
  readonly requestId: RequestId
}

const VERSION = "u1"

/** The position as text; what a cursor carries under its seal. */
export const toText = ({ settledAtMicros, requestId }: UsagePosition): string =>
  `${VERSION} ${settledAtMicros} ${requestId}`

const isUuid = Schema.is(Schema.UUID)

export const fromText = (text: string): Option.Option<UsagePosition> => {
  const [version, micros = "", requestId = "", ...more] = text.split(" ")
  return version === VERSION && more.length === 0 && /^\d{1,18}$/.test(micros) && isUuid(requestId)
    ? Option.some({ settledAtMicros: BigInt(micros), requestId: RequestId(requestId) })
    : Option.none()
}
