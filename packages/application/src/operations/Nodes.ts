/**
 * The running servers, as stored in the database. A node that stops sending heartbeats is dead, and other nodes sweep
 * its holds.
 */
import type * as Brand from "effect/Brand"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export type NodeId = string & Brand.Brand<"NodeId">

export class Nodes extends Context.Tag("@tollgate/application/Nodes")<
  Nodes,
  {
    /** The id of this process. */
    readonly self: NodeId
    /** Stores a heartbeat of this node with the database time. */
    readonly beat: Effect.Effect<void>
    /** Deregisters this node. Other nodes may then sweep its remaining holds at once. */
    readonly leave: Effect.Effect<void>
  }
>() {}
