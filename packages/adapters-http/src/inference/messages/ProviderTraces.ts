/**
 * Takes out of messages and their events what tells who the supplier is (docs/reference/inference.md#f15): its name for
 * the model, the marks resellers of models leave in ids, and the members every protocol hides. Where nothing tells, the
 * object itself is returned, so that its bytes can be passed on as they came.
 */
import { asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"
import { withoutSupplierMembers } from "../../wire/ProviderMembers.ts"

export interface OurNames {
  readonly publicName: string
  /** For a message whose own id is not of Anthropic's form. */
  readonly messageId: string
}

/** An event of a stream. */
export const eventWithoutTraces = (given: JsonObject, names: OurNames): JsonObject => {
  let event = shallow(given, names)
  if (event.message !== undefined) event = put(event, "message", ifObject(event.message, messageWithoutTraces, names))
  if (event.content_block !== undefined)
    event = put(event, "content_block", ifObject(event.content_block, block, names))
  if (event.delta !== undefined) event = put(event, "delta", ifObject(event.delta, shallow, names))
  return event.usage === undefined ? event : put(event, "usage", deep(event.usage, names))
}

/** A whole message, or the beginning of one. */
export const messageWithoutTraces = (given: JsonObject, names: OurNames): JsonObject => {
  const id = asText(given.id)
  let message = put(shallow(given, names), "id", id.startsWith("msg_") ? plainId(id) : names.messageId)
  message = put(message, "model", names.publicName)
  if (Array.isArray(message.content)) {
    const blocks = each(message.content, (item) => ifObject(item, block, names))
    message = put(message, "content", blocks)
  }
  return message.usage === undefined ? message : put(message, "usage", deep(message.usage, names))
}

/** The input of a tool and its results are the conversation's, whatever is in them. */
const block = (given: JsonObject, names: OurNames): JsonObject => {
  // Says where one model took over from another, and which.
  if (given.type === "fallback") return inside(given, names)
  let told = shallow(given, names)
  for (const name of ["id", "tool_use_id"]) {
    const id = told[name]
    if (typeof id === "string") told = put(told, name, plainId(id))
  }
  return told
}

const shallow = (given: JsonObject, { publicName }: OurNames): JsonObject => {
  const told = withoutSupplierMembers(given)
  return typeof told.model === "string" ? put(told, "model", publicName) : told
}

/** For the parts that hold figures and names only. */
const deep = (value: unknown, names: OurNames): unknown =>
  Array.isArray(value) ? each(value, (item) => deep(item, names)) : ifObject(value, inside, names)

const inside = (given: JsonObject, names: OurNames): JsonObject => {
  let told = shallow(given, names)
  for (const name in told) told = put(told, name, deep(told[name], names))
  return told
}

const ifObject = (
  value: unknown,
  clean: (object: JsonObject, names: OurNames) => JsonObject,
  names: OurNames
): unknown => {
  const object = asObject(value)
  return object === undefined ? value : clean(object, names)
}

const each = (items: ReadonlyArray<unknown>, clean: (item: unknown) => unknown): ReadonlyArray<unknown> => {
  const told = items.map(clean)
  return told.every((item, i) => item === items[i]) ? items : told
}

const put = (object: JsonObject, name: string, value: unknown): JsonObject =>
  object[name] === value ? object : { ...object, [name]: value }

/** Clients send the ids of tool calls back; without the mark they are as good, and the same in call and result. */
const plainId = (id: string): string => id.replace(RESELLER_MARK, "$1_")

const RESELLER_MARK = /^([a-z]{2,16})_(?:bdrk|vrtx)_/
