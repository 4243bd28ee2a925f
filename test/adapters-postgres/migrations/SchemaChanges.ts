/**
 * Finds the statements of a migration that servers of the previous release do not support, or that block their writes
 * for a long time (ADR 0015). An ALTER TABLE, an index or a trigger for a table that the same migration creates is
 * allowed.
 */

/** Tables that grow with requests or bookings. The creation of an index on them can block writes for minutes. */
const LARGE_TABLES: ReadonlySet<string> = new Set(["settlement", "transfer", "open_request", "image_request"])

const VOLATILE = /\b(CLOCK_TIMESTAMP|GEN_RANDOM_UUID|NEXTVAL|RANDOM|UUIDV7)\s*\(/

/** Returns one text for each forbidden change. */
export const breakingChanges = (migration: string): ReadonlyArray<string> => {
  const statements = statementsOf(migration)
  const created = new Set(statements.flatMap((text) => /^CREATE TABLE (?:IF NOT EXISTS )?(\w+)/.exec(text)?.[1] ?? []))
  const isOwn = (table: string | undefined) => table !== undefined && created.has(table)
  const added = new Set(statements.flatMap((text) => [...text.matchAll(/ADD COLUMN (\w+)/g)].map(([, name]) => name)))

  /**
   * Returns whether a text names a new column. Servers of the previous release do not write this column, so the rows
   * that they insert contain null or the default.
   */
  const isAboutAdded = (text: string) => [...added].some((column) => new RegExp(`\\b${column}\\b`).test(text))

  const changeOf = (text: string): ReadonlyArray<string> => {
    const altered = /^ALTER TABLE (?:ONLY )?(\w+) /.exec(text)
    if (altered !== null) return isOwn(altered[1]) ? [] : tableChanges(text.slice(altered[0].length))
    if (/^(DROP|TRUNCATE|DELETE|REVOKE)\b/.test(text)) return [text]
    if (/^ALTER (TYPE|FUNCTION|SEQUENCE|VIEW|INDEX|SCHEMA|DOMAIN)\b/.test(text)) return [text]
    const index = /^CREATE (UNIQUE )?INDEX .*?\bON (\w+)/.exec(text)
    if (index !== null && !isOwn(index[2])) {
      if (LARGE_TABLES.has((index[2] ?? "").toLowerCase())) return [text]
      if (index[1] !== undefined && !isAboutAdded(text.slice(index[0].length))) return [text]
    }
    const trigger = /^CREATE (?:OR REPLACE )?(?:CONSTRAINT )?TRIGGER .*? ON (\w+)/.exec(text)
    return trigger !== null && !isOwn(trigger[1]) && !isAboutAdded(text) ? [text] : []
  }
  return statements.flatMap(changeOf)
}

/** Returns the forbidden actions of an ALTER TABLE. */
const tableChanges = (actions: string): ReadonlyArray<string> => {
  const all = splitAt(actions, ",")
  const namesOf = (verb: string) =>
    new Set(all.flatMap((action) => new RegExp(`^${verb} CONSTRAINT (?:IF EXISTS )?(\\w+)`).exec(action)?.[1] ?? []))
  const [dropped, constrained] = [namesOf("DROP"), namesOf("ADD")]
  return all.filter((action) => {
    // A constraint that is dropped and added in one statement must be widened. Only a review can check this.
    const constraint = /^(?:ADD|DROP) CONSTRAINT (?:IF EXISTS )?(\w+)/.exec(action)?.[1]
    if (constraint !== undefined) return !(dropped.has(constraint) && constrained.has(constraint))
    if (/^ADD COLUMN /.test(action)) {
      const isRequired = /\bNOT NULL\b/.test(action) && !/\b(DEFAULT|GENERATED)\b/.test(action)
      return isRequired || VOLATILE.test(action) || /\b(UNIQUE|PRIMARY KEY)\b/.test(action)
    }
    return !/^(ALTER (COLUMN )?\w+ (SET DEFAULT|SET STATISTICS|SET STORAGE)|SET \(|RESET \(|VALIDATE CONSTRAINT)/.test(
      action
    )
  })
}

/**
 * Returns the statements in upper case, without comments, without the contents of texts, function bodies and DO blocks,
 * and with plain names: `"public"."t"` becomes `T`.
 */
const statementsOf = (migration: string): ReadonlyArray<string> =>
  splitAt(
    migration
      // One expression finds all of them, because a text can contain the start of a comment, and a comment an
      // apostrophe.
      .replace(/--[^\n]*|\/\*[\s\S]*?\*\/|\$(\w*)\$[\s\S]*?\$\1\$|'(?:[^']|'')*'/g, (found) =>
        /^(--|\/\*)/.test(found) ? " " : "''"
      )
      .replaceAll('"', "")
      .toUpperCase()
      .replace(/\bPUBLIC\./g, ""),
    ";"
  )

/** Splits a text at a character outside of parentheses. */
const splitAt = (text: string, separator: string): ReadonlyArray<string> => {
  const parts = [""]
  let depth = 0
  for (const character of text) {
    if (character === "(") depth += 1
    if (character === ")") depth -= 1
    if (character === separator && depth === 0) parts.push("")
    else parts[parts.length - 1] += character
  }
  return parts.map((part) => part.replace(/\s+/g, " ").trim()).filter((part) => part !== "")
}
