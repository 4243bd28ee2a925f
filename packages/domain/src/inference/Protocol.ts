/**
 * The wire protocols a model can be called with, and the path a supplier of each serves it at.
 */
export type Protocol = "chat" | "messages" | "responses" | "images"

export const protocols: ReadonlyArray<Protocol> = ["chat", "messages", "responses", "images"]
