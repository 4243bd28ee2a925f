/**
 * Why an answer stopped, in OpenAI's words, whatever the supplier calls it.
 */
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter" | "function_call"

const OTHER_WORDS: ReadonlyMap<string, FinishReason> = new Map([
  ["stop", "stop"],
  ["length", "length"],
  ["tool_calls", "tool_calls"],
  ["content_filter", "content_filter"],
  ["function_call", "function_call"],
  ["max_tokens", "length"],
  ["max_output_tokens", "length"],
  ["model_length", "length"],
  ["model_context_window_exceeded", "length"],
  ["tool_use", "tool_calls"],
  ["safety", "content_filter"],
  ["prohibited_content", "content_filter"],
  ["recitation", "content_filter"],
  ["refusal", "content_filter"]
])

/** `error` is a failure; undefined means that the answer goes on. An unknown word is an ordinary end. */
export const finishReasonOf = (said: unknown): FinishReason | "error" | undefined => {
  if (typeof said !== "string" || said === "") return undefined
  const word = said.toLowerCase()
  return word === "error" ? "error" : (OTHER_WORDS.get(word) ?? "stop")
}
