/**
 * Removes or replaces these marks of the provider in messages and their stream events
 * (docs/reference/inference.md#f15): the upstream model name, the cloud platform's mark in ids (`bdrk`, `vrtx`), and
 * the JSON members that `withoutProviderMembers` removes. If a function changes nothing, it returns the same object, so
 * that the caller can pass on the original bytes.
 */
import { withoutHyphens } from "@tollgate/domain/inference/InferenceRequest"
import { asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"
import { withoutProviderMembers } from "../../wire/Redaction.ts"
import type { ResponseContext } from "../relay/RelayProtocol.ts"

/** The names that replace names and ids from the provider. */
export interface PublicNames {
  readonly publicName: string
  /** The id that replaces a message id that does not begin with `msg_`. */
  readonly messageId: string
}

export const publicNamesOf = ({ requestId, publicName }: ResponseContext): PublicNames => ({
  publicName,
  messageId: `msg_${withoutHyphens(requestId)}`
})

/** Redacts an event of a stream. */
export const redactedEvent = (given: JsonObject, names: PublicNames): JsonObject => {
  let event = shallow(given, names)
  if (event.message !== undefined) event = withMember(event, "message", ifObject(event.message, redactedMessage, names))
  if (event.content_block !== undefined)
    event = withMember(event, "content_block", ifObject(event.content_block, redactedBlock, names))
  if (event.delta !== undefined) event = withMember(event, "delta", ifObject(event.delta, shallow, names))
  return event.usage === undefined ? event : withMember(event, "usage", deep(event.usage, names))
}

/** Redacts a whole message or the message in a `message_start` event. */
export const redactedMessage = (given: JsonObject, names: PublicNames): JsonObject => {
  const id = asText(given.id)
  let message = withMember(shallow(given, names), "id", id.startsWith("msg_") ? plainId(id) : names.messageId)
  message = withMember(message, "model", names.publicName)
  if (Array.isArray(message.content)) {
    const blocks = each(message.content, (item) => ifObject(item, redactedBlock, names))
    message = withMember(message, "content", blocks)
  }
  return message.usage === undefined ? message : withMember(message, "usage", deep(message.usage, names))
}

/** Redacts a content block. Tool inputs and tool results belong to the conversation, so they stay unchanged. */
const redactedBlock = (given: JsonObject, names: PublicNames): JsonObject => {
  // A block of the type `fallback` contains, at any depth, the names of the models between which the provider switched.
  if (given.type === "fallback") return redactedMembers(given, names)
  let redacted = shallow(given, names)
  for (const name of ["id", "tool_use_id"]) {
    const id = redacted[name]
    if (typeof id === "string") redacted = withMember(redacted, name, plainId(id))
  }
  return redacted
}

const shallow = (given: JsonObject, { publicName }: PublicNames): JsonObject => {
  const redacted = withoutProviderMembers(given)
  return typeof redacted.model === "string" ? withMember(redacted, "model", publicName) : redacted
}

/** Redacts at every depth. Used only for values that contain no content of the conversation. */
const deep = (value: unknown, names: PublicNames): unknown =>
  Array.isArray(value) ? each(value, (item) => deep(item, names)) : ifObject(value, redactedMembers, names)

const redactedMembers = (given: JsonObject, names: PublicNames): JsonObject => {
  let redacted = shallow(given, names)
  for (const name in redacted) redacted = withMember(redacted, name, deep(redacted[name], names))
  return redacted
}

const ifObject = (
  value: unknown,
  redact: (object: JsonObject, names: PublicNames) => JsonObject,
  names: PublicNames
): unknown => {
  const object = asObject(value)
  return object === undefined ? value : redact(object, names)
}

const each = (items: ReadonlyArray<unknown>, redact: (item: unknown) => unknown): ReadonlyArray<unknown> => {
  const redacted = items.map(redact)
  return redacted.every((item, i) => item === items[i]) ? items : redacted
}

const withMember = (object: JsonObject, name: string, value: unknown): JsonObject =>
  object[name] === value ? object : { ...object, [name]: value }

/**
 * Removes the cloud platform's mark from an id, for example `toolu_bdrk_01` becomes `toolu_01`. Ids remain unique
 * without the mark. The `id` of a tool call and the `tool_use_id` of the result of this call lose the mark in the same
 * way, so they stay equal.
 */
const plainId = (id: string): string => id.replace(PLATFORM_MARK, "$1_")

const PLATFORM_MARK = /^([a-z]{2,16})_(?:bdrk|vrtx)_/
