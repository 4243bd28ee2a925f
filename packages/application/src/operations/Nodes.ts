/**
 * The running servers, as the database knows them. A node that stops sending heartbeats is dead, and other nodes sweep
 * its holds.
 */
import type * as Brand from "effect/Brand"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export type NodeId = string & Brand.Brand<"NodeId">

export class Nodes extends Context.Tag("@tollgate/application/Nodes")<
  Nodes,
  {
    /** This process. */
    readonly self: NodeId
    /** Stores a heartbeat of this node, by the database's clock. */
    readonly beat: Effect.Effect<void>
    /** Deregisters this node: other nodes may sweep its remaining holds at once. */
    readonly leave: Effect.Effect<void>
  }
>() {}
