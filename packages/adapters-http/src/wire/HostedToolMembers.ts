/**
 * Lists the hosted tools that a body contains. A hosted tool is an element of `tools`, or is turned on by another
 * member.
 */
import type { HostedTool } from "@tollgate/domain/inference/HostedTools"
import type { ScannedMember } from "./JsonScan.ts"

/** Returns the hosted tools in `tools`, and the tool of each pair in `members` whose member turns this tool on. */
export const hostedToolsIn = (
  tools: ScannedMember | undefined,
  members: { readonly [param: string]: readonly [member: ScannedMember | undefined, tool: string] } = {}
): ReadonlyArray<HostedTool> => {
  const found: Array<HostedTool> = (tools?.typeNames ?? NONE).map((name) => ({ name, param: "tools" }))
  for (const param in members) {
    const [member, name] = members[param] as (typeof members)[string]
    if (isTurnedOn(member)) found.push({ name, param })
  }
  return found
}

const NONE: ReadonlyArray<string> = []

/** Returns whether a member turns a tool on: `null`, `false`, an empty array and an absent member do not. */
const isTurnedOn = (member: ScannedMember | undefined): boolean => {
  if (member === undefined || member.type === "null" || (member.type === "array" && member.empty)) return false
  // `true` has four bytes and `false` has five.
  return member.type !== "boolean" || member.end - member.start === 4
}
