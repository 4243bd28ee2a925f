/**
 * Reads the status of a reseller that is not active from the refusal of its login. The body of the refusal has no
 * member for the status; its message contains the status (docs/reference/reseller.md#b5).
 */
import type { Problem } from "./Problem.ts"

const statuses = ["pending", "rejected", "suspended"] as const

export const inactiveStatusOf = (problem: Problem | undefined): (typeof statuses)[number] | undefined =>
  problem?.code === "reseller_not_active"
    ? statuses.find((status) => problem.message.includes(`is ${status}`))
    : undefined
