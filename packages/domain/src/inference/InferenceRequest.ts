/**
 * An inference request: the id that names it everywhere, the wire protocol it uses, and the kind of model it calls.
 */
import * as Brand from "effect/Brand"

/**
 * Made by the gateway; the same in the response headers, the hold, the usage row and the log line. A UUID of version 7, so
 * that rows are inserted in time order. It knows no protocol: each protocol derives the ids of its own objects from it.
 */
export type RequestId = string & Brand.Brand<"RequestId">
export const RequestId = Brand.nominal<RequestId>()

/** The 32 hexadecimal digits of an id: protocols put their own prefix before them. */
export const withoutHyphens = (id: RequestId): string => id.replaceAll("-", "")

interface ModelKindRules {
  /** The wire protocols that call models of this kind. No protocol calls models of two kinds. */
  readonly protocols: ReadonlyArray<string>
  /** A model of this kind needs capabilities, and no other model has any. */
  readonly hasCapabilities: boolean
  /** Its usage is tokens of text, which the rankings count. */
  readonly isRanked: boolean
}

/** The one list of model kinds and wire protocols. The database has the same names in CHECKs: a new name needs a migration. */
const modelKinds = {
  text: { protocols: ["chat", "messages", "responses"], hasCapabilities: false, isRanked: true },
  image: { protocols: ["images"], hasCapabilities: true, isRanked: false },
  embedding: { protocols: ["embeddings"], hasCapabilities: false, isRanked: true }
} as const satisfies { readonly [kind: string]: ModelKindRules }

export type ModelKind = keyof typeof modelKinds
export type Protocol = (typeof modelKinds)[ModelKind]["protocols"][number]

export const kindsOfModels = Object.keys(modelKinds) as ReadonlyArray<ModelKind>

export const protocolsOf = (kind: ModelKind): ReadonlyArray<Protocol> => modelKinds[kind].protocols

export const hasCapabilities = (kind: ModelKind): boolean => modelKinds[kind].hasCapabilities

export const rankedKinds: ReadonlyArray<ModelKind> = kindsOfModels.filter((kind) => modelKinds[kind].isRanked)

export const protocols: ReadonlyArray<Protocol> = kindsOfModels.flatMap(protocolsOf)
