/**
 * Decides which tools of a request are hosted (docs/reference/inference.md#x5). A hosted tool, such as a web search, is
 * run by the provider, which charges a fee for each call. Every other tool is run by the client or has no fee.
 *
 * The lists contain the types of the tools that are not hosted. A tool of any other type counts as hosted. Therefore a
 * tool that a provider adds later is refused, unless the catalog allows it for the model. Otherwise the provider could
 * run it for a fee that no customer pays.
 */
import type { Protocol } from "./InferenceRequest.ts"

type ToolProtocol = Extract<Protocol, "chat" | "messages" | "responses">

/** The types of the tools that are not hosted, without versions. A tool without a type has the type `""` here. */
const unhostedTools: { readonly [P in ToolProtocol]: ReadonlySet<string> } = {
  chat: new Set(["function", "custom", ""]),
  messages: new Set([
    "custom",
    "function",
    "bash",
    "browser_toolset",
    "computer",
    "computer_toolset",
    "memory",
    "text_editor",
    "tool_search_tool",
    "tool_search_tool_bm25",
    "tool_search_tool_regex",
    ""
  ]),
  responses: new Set([
    "function",
    "custom",
    "apply_patch",
    "computer",
    "computer_use",
    "local_shell",
    "namespace",
    "tool_search",
    ""
  ])
}

/** The version at the end of a type, as in `web_search_20250305` and `web_search_preview_2025_03_11`. */
const VERSION = /(_preview)?(_\d{8}|_\d{4}_\d{2}_\d{2})?$/

/** The maximum number of hosted tools that the catalog allows for a model. */
export const MAX_HOSTED_TOOLS = 16

/**
 * Returns the name of a hosted tool: its type without the version, for example `web_search`; `mcp` for `mcp_toolset`.
 * Returns undefined for a tool that is not hosted.
 */
export const hostedToolOf = (protocol: ToolProtocol, type: string): string | undefined => {
  if (unhostedTools[protocol].has(type)) return undefined
  const name = type.replace(VERSION, "")
  if (unhostedTools[protocol].has(name)) return undefined
  return name === "mcp_toolset" ? "mcp" : name
}

/** Returns the first of these hosted tools that is not in `allowed`; undefined if all are allowed. */
export const refusedTool = (
  tools: ReadonlyArray<HostedTool>,
  allowed: ReadonlyArray<string> = []
): HostedTool | undefined => tools.find(({ name }) => !allowed.includes(name))

/** A hosted tool that a request contains. */
export interface HostedTool {
  readonly name: string
  /** The member of the body that contains the tool. */
  readonly param: string
}
