/**
 * JSON as text: a grammar of valid documents with unusual spellings, and a reader that keeps repeated members, of which
 * `JSON.parse` keeps only the last.
 */
import { FastCheck } from "effect"

const space = FastCheck.constantFrom("", "", "", " ", "\n", "\r\n\t")
const string = FastCheck.oneof(
  FastCheck.fullUnicodeString({ maxLength: 8 }).map((text) => JSON.stringify(text)),
  FastCheck.constantFrom(
    '""',
    '"a"',
    '"\\u0061"',
    '"\\ud800"',
    '"\\/\\b\\f\\n\\r\\t\\"\\\\"',
    '"é🦊"',
    '"\\uD83E\\uDD8A"'
  )
)
const number = FastCheck.oneof(
  FastCheck.integer().map(String),
  FastCheck.constantFrom("0", "-0", "1e9", "1E+2", "0.5e-3", "12345678901234567890", "1e400", "-1.50")
)

export const { value: jsonText } = FastCheck.letrec<{ value: string; array: string; object: string }>((tie) => ({
  value: FastCheck.oneof(
    { maxDepth: 4, depthIdentifier: "json" },
    string,
    number,
    FastCheck.constantFrom("true", "false", "null", "{}", "[]"),
    tie("array"),
    tie("object")
  ),
  array: FastCheck.tuple(space, FastCheck.array(tie("value"), { maxLength: 4, depthIdentifier: "json" })).map(
    ([gap, items]) => `[${gap}${items.join(`${gap},`)}]`
  ),
  object: FastCheck.tuple(
    space,
    FastCheck.array(FastCheck.tuple(string, tie("value")), { maxLength: 4, depthIdentifier: "json" })
  ).map(([gap, members]) => objectText(members, gap))
}))

/** Returns the text of an object with these members. Names and values are JSON texts. */
export const objectText = (members: ReadonlyArray<readonly [string, string]>, gap = ""): string =>
  `{${members.map(([name, value]) => `${gap}${name}${gap}:${value}`).join(",")}${gap}}`

/** Objects with these members, of which some are missing, repeated, spelled differently, or have another value. */
export const objectWith = (members: { readonly [name: string]: FastCheck.Arbitrary<string> }) => {
  const known = Object.entries(members).map(([name, value]) =>
    FastCheck.tuple(
      spellingOf(name),
      FastCheck.oneof({ weight: 9, arbitrary: value }, { weight: 1, arbitrary: jsonText })
    )
  )
  const usual = FastCheck.shuffledSubarray(
    known.map((_, i) => i),
    { minLength: Math.min(1, known.length) }
  )
  return FastCheck.tuple(
    FastCheck.tuple(...known),
    FastCheck.oneof(FastCheck.constant(known.map((_, i) => i)), usual),
    FastCheck.array(FastCheck.tuple(string, jsonText), { maxLength: 2 }),
    FastCheck.oneof({ weight: 19, arbitrary: FastCheck.constant(-1) }, { weight: 1, arbitrary: FastCheck.nat() }),
    space
  ).map(([all, picked, others, doubled, gap]) => {
    const chosen = picked.flatMap((i) => (all[i] === undefined ? [] : [all[i]]))
    const again = doubled < 0 ? undefined : chosen[doubled % Math.max(1, chosen.length)]
    return objectText(
      [...others.slice(0, 1), ...chosen, ...others.slice(1), ...(again === undefined ? [] : [again])],
      gap
    )
  })
}

const spellingOf = (name: string) => {
  const escaped = `"${name.slice(0, 1)}\\u${name.charCodeAt(1).toString(16).padStart(4, "0")}${name.slice(2)}"`
  const near = [`"${name.toUpperCase()}"`, `"${name.replace("s", "ſ")}"`, `"${name.replace("k", "\u212a")}"`]
  return FastCheck.oneof(
    { weight: 40, arbitrary: FastCheck.constant(`"${name}"`) },
    { weight: 3, arbitrary: FastCheck.constant(escaped) },
    { weight: 1, arbitrary: FastCheck.constantFrom(...near) }
  )
}

/** A value of a JSON text. The members of an object are a list, so repeated members are kept. */
export type Tree = { readonly members: ReadonlyArray<readonly [string, Tree]> } | ReadonlyArray<Tree> | Leaf
type Leaf = string | number | boolean | null

const TOKEN = /[\s]*("(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+)/gy

/** Reads a text that is valid JSON. */
export const treeOf = (text: string): Tree => {
  TOKEN.lastIndex = 0
  const next = (): string => TOKEN.exec(text)?.[1] ?? ""
  const read = (token: string): Tree => {
    if (token === "[") {
      const items: Array<Tree> = []
      for (let item = next(); item !== "]"; item = next()) if (item !== ",") items.push(read(item))
      return items
    }
    if (token !== "{") return JSON.parse(token) as Leaf
    const members: Array<readonly [string, Tree]> = []
    for (let name = next(); name !== "}"; name = next()) {
      if (name === ",") continue
      next()
      members.push([JSON.parse(name), read(next())])
    }
    return { members }
  }
  return read(next())
}

export const membersOf = (tree: Tree | undefined): ReadonlyArray<readonly [string, Tree]> | undefined =>
  typeof tree === "object" && tree !== null && "members" in tree ? tree.members : undefined

/** Returns the deepest nesting of a tree: 0 for a value that is neither an array nor an object. */
export const depthOf = (tree: Tree): number => {
  const inner = membersOf(tree)?.map(([, value]) => value) ?? (Array.isArray(tree) ? tree : undefined)
  return inner === undefined ? 0 : 1 + inner.reduce((most, value) => Math.max(most, depthOf(value)), 0)
}
