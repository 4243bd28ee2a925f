/**
 * Makes the operation id of a mint, a top-up, a credit or an adjustment of quota. The id is chosen once, before the
 * first request. Every repeat sends the same id, so that the gateway acts once even if a response was lost.
 */
const ID_BYTES = 16

export const newOperationId = (): string => {
  const bytes = crypto.getRandomValues(new Uint8Array(ID_BYTES))
  return `console-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`
}
