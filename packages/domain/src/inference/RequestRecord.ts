/**
 * Defines the stored data of one request, for an operator who has its id.
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Hold } from "../ledger/Hold.ts"
import type { Price } from "../ledger/Price.ts"
import type { Settlement, UsageSource } from "../ledger/Settlement.ts"
import type { TokenUsage } from "../ledger/TokenUsage.ts"
import type { UsdPico } from "../money/UsdPico.ts"
import type { Ending } from "./Charge.ts"
import type { Checkpoint } from "./Checkpoint.ts"
import { type Protocol, RequestId } from "./InferenceRequest.ts"
import type { WriteOffReason } from "./WriteOff.ts"

export interface OpenRecord {
  readonly _tag: "Open"
  readonly hold: Hold
  readonly checkpoint: Checkpoint
  readonly node: string
  /** True if the node is dead: it has deregistered, its row is missing, or its last heartbeat is too old. */
  readonly orphaned: boolean
}

export interface SettledRecord {
  readonly _tag: "Settled"
  readonly ending: Ending
  readonly source: UsageSource
  readonly charged: TokenUsage
  readonly consumed: TokenUsage
  readonly settlement: Settlement
  /** The reason of the write-off; undefined if nothing was written off. */
  readonly writeOffReason: WriteOffReason | undefined
  /** The cost of the tokens that were consumed and not charged, at the price of the request. */
  readonly operatorLossPico: UsdPico
  readonly ttftMillis: number | undefined
  readonly durationMillis: number
  readonly settledAt: Date
}

/** The state of an image request and of its review by an operator. */
export interface ImageRecord {
  readonly state: string
  readonly reviewReason: string | undefined
  readonly reviewResolution: string | undefined
}

export interface RequestRecord {
  readonly requestId: RequestId
  readonly userId: string
  readonly email: string
  /** The resellers that the customer is linked to. */
  readonly resellers: ReadonlyArray<string>
  readonly keyId: string
  /** The part of the API key between its prefix and its secret. */
  readonly keyPublicId: string
  readonly keyName: string
  readonly model: string
  /** The routes of the model in the current catalog. The database does not record which of them served the request. */
  readonly routes: ReadonlyArray<{ readonly provider: string; readonly upstreamModel: string }>
  readonly protocol: Protocol
  readonly streamed: boolean
  /** The price that was valid at admission. */
  readonly price: Price
  readonly heldAt: Date
  readonly state: OpenRecord | SettledRecord
  readonly image: ImageRecord | undefined
}

/** No open or settled request has this id. A request that was refused before it had a hold is not stored. */
export class RequestNotFound extends Schema.TaggedError<RequestNotFound>()("RequestNotFound", {
  requestId: Schema.String
}) {}

const ID = /^(?:chatcmpl-|msg_|resp_)?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})$/

/** Reads a request id, in the form of the header `x-request-id` or of the id in a response, such as `chatcmpl-...`. */
export const readRequestId = (text: string): Option.Option<RequestId> =>
  Option.map(Option.fromNullable(ID.exec(text.trim().toLowerCase())), (found) => RequestId(found.slice(1).join("-")))
