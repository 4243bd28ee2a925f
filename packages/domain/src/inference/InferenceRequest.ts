/**
 * Defines the properties of every inference request: its id, its protocol, and the kind of its model.
 */
import * as Brand from "effect/Brand"

/**
 * The id that the gateway assigns to a request. It is used in the response headers, in the rows of `open_request` and
 * `settlement`, and in log entries about the request. It is a UUID of version 7, so that rows are inserted in the order
 * of time. The protocols chat, messages and responses derive the ids in their responses from the request id.
 */
export type RequestId = string & Brand.Brand<"RequestId">
export const RequestId = Brand.nominal<RequestId>()

/** Returns the 32 hexadecimal digits of an id, from which response ids and trace ids are made. */
export const withoutHyphens = (id: RequestId): string =>
  id.slice(0, 8) + id.slice(9, 13) + id.slice(14, 18) + id.slice(19, 23) + id.slice(24)

interface ModelKindRules {
  /** The protocols that call models of this kind. Each protocol belongs to exactly one kind. */
  readonly protocols: ReadonlyArray<string>
  /** True if a model of this kind must have capabilities. If it is false, a model of this kind must have none. */
  readonly hasCapabilities: boolean
  /** Whether the rankings count the usage of models of this kind. */
  readonly isRanked: boolean
}

/**
 * All kinds of models and all protocols. CHECK constraints in the database repeat these names: a new name needs a
 * migration.
 */
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
