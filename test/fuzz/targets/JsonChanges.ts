/**
 * Defines the changes of JSON frames and responses. The result is still JSON, unlike most results of changed bytes.
 */
import { FastCheck } from "effect"

const deep = (levels: number): unknown => Array.from({ length: levels }).reduce((inner) => [inner], 1 as unknown)

const UNUSUAL: ReadonlyArray<unknown> = [
  ...[null, true, false, 0, -1, 1.5, 7, 1e308, 2 ** 53, 10_000_001],
  ...["", "x", "\ud800", "a\u2028b", "line\nline", "[DONE]", "error", "failed", "stop", "null", "🦊".repeat(50)],
  ...[[], [null], [[]], [{}], ["a", { text: "b" }], {}, { a: {} }, { text: "c" }, { error: null }, { length: 3 }],
  ...[{ type: "error" }, { code: 429 }, { message: "m" }, { index: 1 }, deep(100), { __proto__: null, toString: 1 }]
]

export type JsonChange =
  | { readonly kind: "drop" | "double" | "exchange"; readonly at: number; readonly to: number }
  | { readonly kind: "replace" | "remove" | "add"; readonly at: number; readonly to: number; readonly value: unknown }

const kind = FastCheck.constantFrom<JsonChange["kind"]>(
  ...(["drop", "double", "exchange", "replace", "replace", "replace", "remove", "add"] as const)
)

/** Lists of up to three changes. About half of the lists are empty. */
export const jsonChanges: FastCheck.Arbitrary<ReadonlyArray<JsonChange>> = FastCheck.oneof(
  FastCheck.constant([]),
  FastCheck.array(
    FastCheck.record({
      kind,
      at: FastCheck.nat(),
      to: FastCheck.nat(),
      value: FastCheck.oneof(FastCheck.constantFrom(...UNUSUAL), FastCheck.fullUnicodeString({ maxLength: 6 }))
    }) as FastCheck.Arbitrary<JsonChange>,
    { minLength: 1, maxLength: 3 }
  )
)

export const changedFrames = (
  frames: ReadonlyArray<unknown>,
  list: ReadonlyArray<JsonChange>
): ReadonlyArray<unknown> => list.reduce(changedOnce, frames)

export const changedValue = (value: unknown, list: ReadonlyArray<JsonChange>): unknown =>
  list.reduce((result, change) => ("value" in change ? withChangedMember(result, change) : result), value)

const changedOnce = (frames: ReadonlyArray<unknown>, change: JsonChange): ReadonlyArray<unknown> => {
  if (frames.length === 0) return frames
  const [at, to] = [change.at % frames.length, change.to % frames.length]
  switch (change.kind) {
    case "drop":
      return frames.filter((_, i) => i !== at)
    case "double":
      return frames.flatMap((frame, i) => (i === at ? [frame, frame] : [frame]))
    case "exchange":
      return frames.map((frame, i) => (i === at ? frames[to] : i === to ? frames[at] : frame))
    default:
      return frames.map((frame, i) => (i === at && "value" in change ? withChangedMember(frame, change) : frame))
  }
}

type Container = { [member: string]: unknown }

const withChangedMember = (value: unknown, { kind, to, value: given }: JsonChange & { value: unknown }): unknown => {
  const copy = structuredClone(value)
  const places = placesIn(copy)
  const place = places[to % Math.max(1, places.length)]
  if (place === undefined) return given
  const [container, name] = place
  if (kind === "remove") delete container[name]
  else if (kind === "replace") container[name] = given
  else container[NEW_MEMBERS[to % NEW_MEMBERS.length] as string] = given
  return copy
}

const NEW_MEMBERS = ["error", "type", "usage", "content", "delta", "model", "x_groq", "index", "provider", "id", "name"]

/** Returns every member at any depth, as its container and its name. */
const placesIn = (value: unknown): ReadonlyArray<readonly [Container, string]> => {
  if (typeof value !== "object" || value === null) return []
  const container = value as Container
  return Object.keys(container).flatMap((name) => [[container, name] as const, ...placesIn(container[name])])
}
