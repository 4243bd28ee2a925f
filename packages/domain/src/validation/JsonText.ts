/**
 * Parses JSON that an operator has written, and reports an error with its line and column. A member that occurs twice
 * in one object is an error, because JSON.parse would silently keep only the last value.
 */
import * as Either from "effect/Either"

export interface JsonMistake {
  readonly line: number
  readonly column: number
  readonly problem: string
}

export const readJson = (text: string): Either.Either<unknown, JsonMistake> => {
  const mistake = findMistake(text)
  if (mistake !== undefined) return Either.left(locate(text, mistake))
  return Either.try({ try: () => JSON.parse(text) as unknown, catch: (error) => locate(text, [0, String(error)]) })
}

type Found = readonly [offset: number, problem: string]

const TOKEN =
  /[ \t\r\n]*(?:("(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null)(?!\w))|([[\]{}:,]))/uy

/** One entry per open object or array: the member names read so far in an object, or `undefined` for an array. */
type Open = Array<Set<string> | undefined>

/** The tokens that may come next. */
type Expected = "value" | "value or ]" | "name" | "name or }" | ":" | ", or closing" | "nothing"

const problems: Readonly<Record<Expected, string>> = {
  value: "a value is missing here",
  "value or ]": "expected a value or ]",
  name: 'expected a member name in double quotes; JSON allows no comma before "}"',
  "name or }": "expected a member name in double quotes, or }",
  ":": "expected : after the member name",
  ", or closing": "expected a comma or a closing bracket",
  nothing: "unexpected text after the end of the document"
}

const findMistake = (text: string): Found | undefined => {
  const open: Open = []
  const afterValue = (): Expected => (open.length === 0 ? "nothing" : ", or closing")
  let expected: Expected = "value"
  TOKEN.lastIndex = 0
  for (;;) {
    const from = TOKEN.lastIndex
    const [all, string, scalar, sign] = TOKEN.exec(text) ?? []
    if (all === undefined) {
      const rest = from + (/^[ \t\r\n]*/.exec(text.slice(from))?.[0].length ?? 0)
      if (rest < text.length) return [rest, unreadable(text.charAt(rest), expected)]
      return expected === "nothing" ? undefined : [rest, "the document is incomplete"]
    }
    const at = TOKEN.lastIndex - (string ?? scalar ?? sign ?? "").length
    const inside = open.at(-1)
    if (expected === "name" || expected === "name or }") {
      if (string !== undefined) {
        const name = JSON.parse(string) as string
        if (inside?.has(name)) return [at, `the member ${string} occurs twice in this object`]
        inside?.add(name)
        expected = ":"
      } else if (sign === "}" && expected === "name or }") {
        open.pop()
        expected = afterValue()
      } else return [at, problems[expected]]
    } else if (expected === ":") {
      if (sign !== ":") return [at, problems[expected]]
      expected = "value"
    } else if (expected === ", or closing") {
      if (sign === ",") expected = inside === undefined ? "value" : "name"
      else if (sign === (inside === undefined ? "]" : "}")) {
        open.pop()
        expected = afterValue()
      } else return [at, problems[expected]]
    } else if (expected === "nothing") {
      return [at, problems[expected]]
    } else if (string !== undefined || scalar !== undefined) {
      expected = afterValue()
    } else if (sign === "{" || sign === "[") {
      open.push(sign === "{" ? new Set() : undefined)
      expected = sign === "{" ? "name or }" : "value or ]"
    } else if (sign === "]" && expected === "value or ]") {
      open.pop()
      expected = afterValue()
    } else return [at, problems[expected]]
  }
}

const unreadable = (character: string, expected: Expected): string => {
  if (character === '"') return "this string has no end, or contains a character that must be escaped"
  if (character === "'") return "strings need double quotes"
  if (character === "/" || character === "#") return "JSON has no comments"
  return problems[expected]
}

const locate = (text: string, [offset, problem]: Found): JsonMistake => {
  const before = text.slice(0, offset).split("\n")
  return { line: before.length, column: [...(before.at(-1) ?? "")].length + 1, problem }
}
