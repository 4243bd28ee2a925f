/**
 * Formats the help page of a command for a terminal. The page has the usage and the description, and then tables of two
 * columns with the subcommands, arguments and options.
 */
import * as HelpDoc from "@effect/cli/HelpDoc"
import type * as Span from "@effect/cli/HelpDoc/Span"
import * as Usage from "@effect/cli/Usage"

const WIDTH = 100
/** The maximum width of the first column, in characters. The explanation of a longer name begins on the next line. */
const MAX_FIRST_COLUMN = 34

/**
 * Returns the help page. `words` is the command line without the words that begin with `-`: the names of groups and of
 * the command, then other words.
 */
export const helpPage = (words: ReadonlyArray<string>, usage: Usage.Usage, doc: HelpDoc.HelpDoc): string => {
  const [name = "", ...parameters] = parametersOf(paragraphs(Usage.getHelp(usage)).join(" "))
  const sections = sectionsOf(doc)
  const command = ["tollgate", ...words.slice(0, words.indexOf(name) + 1)]
  const needsCommand = sections.has("COMMANDS") ? ["COMMAND"] : []
  return [
    linesOf(`Usage: ${[...command, ...needsCommand, ...parameters].join(" ")}`, "  ").join("\n"),
    ...(sections.get("DESCRIPTION") ?? []).map(([sentence]) => wrap(sentence, WIDTH).join("\n")),
    ...["COMMANDS", "ARGUMENTS", "OPTIONS"].flatMap((heading) => {
      const rows = sections.get(heading)
      return rows === undefined ? [] : [[heading, ...columns(rows)].join("\n")]
    })
  ].join("\n\n")
}

type Row = readonly [name: string, explanation: string]

/** Matches sentences that @effect/cli prints beside many options and that explain nothing. */
const BOILERPLATE = /^(A user-defined piece of text\.|A true or false value\.|This setting is optional\.)$/

/**
 * Splits a help page of @effect/cli by heading. The rows of a section are sentences, or names with their explanations.
 */
const sectionsOf = (doc: HelpDoc.HelpDoc): ReadonlyMap<string, ReadonlyArray<Row>> => {
  const sections = new Map<string, ReadonlyArray<Row>>()
  let heading = ""
  const add = (rows: ReadonlyArray<Row>) => sections.set(heading, [...(sections.get(heading) ?? []), ...rows])
  for (const part of partsOf(doc)) {
    if (HelpDoc.isHeader(part)) heading = plain(part.value)
    else if (HelpDoc.isParagraph(part)) add([[plain(part.value), ""]])
    else if (HelpDoc.isDescriptionList(part)) add(part.definitions.map(described))
    else if (HelpDoc.isEnumeration(part)) {
      add(withoutInherited(withoutGroups(part.elements.flatMap(paragraphs).map(listed))))
    }
  }
  return sections
}

const described = ([name, explanation]: readonly [Span.Span, HelpDoc.HelpDoc]): Row => [
  parametersOf(plain(name)).join(" "),
  paragraphs(explanation)
    .filter((sentence) => !BOILERPLATE.test(sentence))
    .join(" ")
]

/**
 * Parses a line in the list of commands. @effect/cli separates a command from its description by at least two spaces,
 * and repeats the name of a group that contains another group.
 */
const listed = (line: string): Row => {
  const [usage = "", explanation = ""] = line.split(/ {2,}/)
  const shown = parametersOf(usage).filter((parameter) => parameter !== "[--json]")
  return [shown.slice(shown[0] === shown[1] ? 1 : 0).join(" "), explanation]
}

/** Removes the row of a group if the rows of its commands are present. */
const withoutGroups = (rows: ReadonlyArray<Row>): ReadonlyArray<Row> =>
  rows.filter(([name]) => !rows.some(([other]) => other.startsWith(`${name} `)))

/**
 * Removes the options of a command from the rows of its subcommands. @effect/cli repeats them there, although the
 * subcommands ignore them.
 */
const withoutInherited = (rows: ReadonlyArray<Row>): ReadonlyArray<Row> =>
  rows.map(([name, explanation]) => {
    const parent = rows.find(
      ([other]) => name.startsWith(`${commandOf(other)} `) && commandOf(other) !== commandOf(name)
    )
    const inherited = parent === undefined ? [] : parametersOf(parent[0].slice(commandOf(parent[0]).length))
    return [inherited.reduce((usage, option) => usage.replace(` ${option}`, ""), name), explanation]
  })

/** Returns the words of a usage line before its parameters. */
const commandOf = (usage: string): string => usage.split(/ (?=\[|--|[A-Z_]{2})/)[0] ?? ""

/** Splits a usage line into parameters: arguments first, then options. Writes `<key-id>` as KEY_ID. */
const parametersOf = (usage: string): ReadonlyArray<string> => {
  const all = usage.match(/\[[^\]]*\]|--\S+ [A-Z_]+|\S+/g) ?? []
  const isOption = (parameter: string) => /^\[?-/.test(parameter)
  return [...all.filter((parameter) => !isOption(parameter)), ...all.filter(isOption)].map((parameter) =>
    parameter.replace(/<([a-z-]+)>/, (_, name: string) => name.toUpperCase().replaceAll("-", "_"))
  )
}

const partsOf = (doc: HelpDoc.HelpDoc): ReadonlyArray<HelpDoc.HelpDoc> =>
  HelpDoc.isSequence(doc) ? [...partsOf(doc.left), ...partsOf(doc.right)] : [doc]

const paragraphs = (doc: HelpDoc.HelpDoc): ReadonlyArray<string> =>
  partsOf(doc).flatMap((part) => (HelpDoc.isParagraph(part) ? [plain(part.value)] : []))

const plain = (span: Span.Span): string => {
  switch (span._tag) {
    case "Text":
    case "URI":
      return span.value
    case "Sequence":
      return plain(span.left) + plain(span.right)
    default:
      return plain(span.value)
  }
}

const columns = (rows: ReadonlyArray<Row>): ReadonlyArray<string> => {
  const first = Math.min(MAX_FIRST_COLUMN, Math.max(...rows.map(([name]) => name.length)))
  const indent = " ".repeat(first + 4)
  return rows.flatMap(([name, explanation]) => {
    const lines = wrap(explanation, WIDTH - indent.length)
    if (name.length > first) return [...linesOf(`  ${name}`, "    "), ...lines.map((line) => indent + line)]
    const [beside = "", ...below] = lines
    return [`  ${name.padEnd(first)}  ${beside}`.trimEnd(), ...below.map((line) => indent + line)]
  })
}

/** Wraps a usage line at {@link WIDTH} characters. A line breaks only before an option. */
const linesOf = (usage: string, indent: string): ReadonlyArray<string> => {
  const [first = "", ...options] = usage.split(/ (?=\[|--)/)
  const lines = [first]
  for (const option of options) {
    const longer = `${lines.at(-1)} ${option}`
    if (longer.length <= WIDTH) lines[lines.length - 1] = longer
    else lines.push(indent + option)
  }
  return lines
}

const wrap = (text: string, width: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  for (const word of text.split(" ")) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}
