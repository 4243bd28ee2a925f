/**
 * Image requests whose end a person looks at, and what they can decide: to let it go, or to charge for it (gap G8).
 */

/** `unmetered`: delivered without usage. `withheld`: too large to deliver. `abandoned`: its client or its node left. */
export type ReviewReason = "unmetered" | "withheld" | "timeout" | "abandoned"
