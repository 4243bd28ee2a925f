/**
 * Extracts the prompt from the members of a body, for a local token count. Only prompts of bounded size are parsed: 32
 * MiB of `[{},{},...]` would become a gigabyte of objects. The prompt of larger members is a sample of their text.
 */
import { extraTokensOf, type PromptText } from "@tollgate/domain/inference/PromptText"
import { sizeOfMembers } from "./BodyMembers.ts"
import type { ScannedMember } from "./JsonScan.ts"

/** The maximum total size in bytes of members that are parsed. */
export const MAX_PARSED_BYTES = 512 * 1024
/**
 * The bytes of names and punctuation in a message that are not counted: an ordinary message has at most this number,
 * and the model does not read them.
 */
const MESSAGE_BYTES = 128
/** The number of other bytes outside texts that count as one token. It is large, so that the count is not too high. */
const STRUCTURE_BYTES_PER_TOKEN = 8
/** The maximum number of JSON values in members that are parsed. No body of 64 KiB has more. */
export const MAX_PARSED_VALUES = 32_768

type Members = { readonly [name: string]: ScannedMember | undefined }

/** Returns the prompt in these members of a body. `promptText` extracts it from the parsed members. */
export const promptIn = (body: Buffer, members: Members, promptText: (request: unknown) => PromptText): PromptText => {
  const found = Object.entries(members).filter((entry): entry is [string, ScannedMember] => entry[1] !== undefined)
  const bytes = found.reduce((sum, [, { start, end }]) => sum + end - start, 0)
  const values = found.reduce((sum, [, member]) => sum + member.values, 0)
  if (bytes > MAX_PARSED_BYTES || values > MAX_PARSED_VALUES) return sampledPrompt(body, Object.values(members))
  const parsed = found.map(([name, { start, end }]) => [name, JSON.parse(body.toString("utf8", start, end))])
  return promptText(Object.fromEntries(parsed))
}

const sampledPrompt = (body: Buffer, members: ReadonlyArray<ScannedMember | undefined>): PromptText => {
  const { textBytes, structureBytes, attachments } = sizeOfMembers(members)
  let text = ""
  let messages = 0
  let readBytes = textBytes
  for (const member of members) {
    if (member === undefined) continue
    text += member.samples?.textBetween(body, member.start, member.end) ?? ""
    messages += member.elements
    readBytes -= member.unreadBytes
  }
  const structure = Math.max(0, structureBytes - messages * MESSAGE_BYTES)
  const extraTokens = extraTokensOf(messages, attachments) + Math.floor(structure / STRUCTURE_BYTES_PER_TOKEN)
  return { text, sampleOf: { sampleBytes: Buffer.byteLength(text), textBytes: readBytes }, extraTokens }
}
