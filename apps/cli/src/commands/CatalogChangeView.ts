/**
 * Formats the changes of a catalog file as JSON and as text.
 */
import type { CatalogChange } from "@tollgate/application/catalog/Catalogs"
import type { MemberChange } from "@tollgate/domain/catalog/CatalogDifference"
import type { Json } from "../terminal/Output.ts"

export const changeDocument = ({ added, changed, retired, version }: CatalogChange): Json => ({
  version,
  added,
  changed,
  retired
})

/** The JSON of a change that was not made. This JSON also contains the changed members. */
export const previewDocument = (change: CatalogChange): Json => ({
  ...(changeDocument(change) as object),
  members: change.members.map(({ after, before, member, name }) => ({ name, member, before, after }))
})

/** Returns the lines of the changes; none if nothing changes. */
export const changeLines = ({ added, changed, members, retired }: CatalogChange): ReadonlyArray<string> => [
  ...added.map((name) => `  added    ${name}`),
  ...changed.flatMap((name) => [
    `  changed  ${name}`,
    ...members.filter((change) => change.name === name).map((change) => `             ${memberLine(change)}`)
  ]),
  ...retired.map((name) => `  retired  ${name}`)
]

export const memberLine = ({ after, before, member }: Omit<MemberChange, "name">): string =>
  `${member}: ${before} -> ${after}`
