/**
 * The time of the gateway. The clock of a device can be wrong by hours, for example after a change of its time zone by
 * hand, but deadlines and days are times of the gateway.
 */

/** Smaller differences are ignored. They come from the delay of a response, and from the whole seconds of `date`. */
const TOLERANCE_MILLIS = 10_000

let differenceMillis = 0

/** Sets the clock by the header `date` of a response that was just received. */
export const setClock = (headers: Headers): void => {
  const seen = Date.parse(headers.get("date") ?? "") - Date.now()
  if (Math.abs(seen - differenceMillis) > TOLERANCE_MILLIS) differenceMillis = seen
}

export const nowMillis = (): number => Date.now() + differenceMillis
