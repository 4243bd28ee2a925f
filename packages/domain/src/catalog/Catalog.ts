/**
 * The catalog contains all models, including hidden and retired models, and the providers that are not retired. It is
 * immutable: a change replaces the whole catalog.
 */
import * as Either from "effect/Either"
import { ModelNotFound } from "../inference/InferenceErrors.ts"
import { type Protocol, protocolsOf } from "../inference/InferenceRequest.ts"
import type { Model, Route } from "./Model.ts"
import type { Provider, ProviderName } from "./Provider.ts"

export interface Catalog {
  readonly version: number
  readonly models: ReadonlyMap<string, Model>
  readonly providers: ReadonlyMap<ProviderName, Provider>
}

export const empty: Catalog = { version: 0, models: new Map(), providers: new Map() }

/** A route to a model, together with its provider. */
export interface Candidate {
  readonly route: Route
  readonly provider: Provider
}

export interface Callable {
  readonly model: Model
  readonly candidates: ReadonlyArray<Candidate>
}

/** Returns the model with this public name. A hidden or retired model is not found. */
export const known = (catalog: Catalog, publicName: string): Either.Either<Model, ModelNotFound> => {
  const model = catalog.models.get(publicName)
  return model === undefined || model.hidden || model.retired
    ? Either.left(new ModelNotFound({ model: publicName }))
    : Either.right(model)
}

/** Returns the model's routes to providers that support the protocol. */
export const candidatesOf = (catalog: Catalog, model: Model, protocol: Protocol): ReadonlyArray<Candidate> =>
  model.routes.flatMap((route) => {
    const provider = catalog.providers.get(route.provider)
    return provider?.protocols.includes(protocol) ? [{ route, provider }] : []
  })

/**
 * Returns the model with this public name and its routes for the protocol. Fails if the model is unknown, hidden or
 * retired, if it has no such route, or if the protocol cannot call models of its kind.
 */
export const callable = (
  catalog: Catalog,
  publicName: string,
  protocol: Protocol
): Either.Either<Callable, ModelNotFound> => {
  const model = known(catalog, publicName)
  if (Either.isLeft(model)) return Either.left(model.left)
  const candidates = candidatesOf(catalog, model.right, protocol)
  return candidates.length === 0 || !serves(model.right, protocol)
    ? Either.left(new ModelNotFound({ model: publicName }))
    : Either.right({ model: model.right, candidates })
}

/**
 * Returns the callable models: the highest discovery rank first, then alphabetically by public name
 * (docs/reference/inference.md#model-2).
 */
export const discoverable = (catalog: Catalog): ReadonlyArray<Model> =>
  [...catalog.models.values()]
    .filter((model) => !model.hidden && !model.retired && hasRoute(catalog, model))
    .sort((a, b) => b.discoveryRank - a.discoveryRank || alphabetically(a.publicName, b.publicName))

const hasRoute = (catalog: Catalog, model: Model): boolean =>
  protocolsOf(model.kind).some((protocol) => candidatesOf(catalog, model, protocol).length > 0)

/** Returns whether the protocol can call models of this kind. */
export const serves = ({ kind }: Model, protocol: Protocol): boolean => protocolsOf(kind).includes(protocol)

/**
 * Compares texts in lower case. The case decides only between texts that differ in nothing else. The result does not
 * depend on the machine's locale.
 */
const alphabetically = (a: string, b: string): number => {
  const [lowerA, lowerB] = [a.toLowerCase(), b.toLowerCase()]
  return lowerA === lowerB ? (a < b ? -1 : 1) : lowerA < lowerB ? -1 : 1
}

/**
 * Sorts candidates into the order in which they are tried: by priority, lowest number first. Candidates of equal
 * priority share the load: their order is random, and a higher weight makes an early place more likely. `draws`
 * contains one random number per candidate, at least 0 and below 1.
 */
export const orderCandidates = (
  candidates: ReadonlyArray<Candidate>,
  draws: ReadonlyArray<number>
): ReadonlyArray<Candidate> =>
  // Each place is exponentially distributed with the weight as its rate. Therefore, of the candidates with equal
  // priority, each is first with a probability that is proportional to its weight.
  candidates
    .map((candidate, i) => ({ candidate, place: -Math.log(1 - (draws[i] ?? 0)) / candidate.route.weight }))
    .sort((a, b) => a.candidate.route.priority - b.candidate.route.priority || a.place - b.place)
    .map(({ candidate }) => candidate)
