/**
 * How long to leave a database alone that is in trouble: longer each time, up to a second, and never the same for two.
 */
import { randomInt } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"

const FIRST_MILLIS = 10
const LAST_MILLIS = 1_000

export const afterBackoff = (attempt: number): Promise<void> => {
  const most = Math.min(LAST_MILLIS, FIRST_MILLIS * 2 ** Math.min(attempt, 10))
  return sleep(most / 2 + randomInt(most / 2))
}
