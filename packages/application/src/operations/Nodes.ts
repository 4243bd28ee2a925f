/**
 * Declares the stores of nodes. A node that stops sending heartbeats counts as dead: another node settles its open
 * holds.
 */
import type { CursorPage, Position } from "@tollgate/domain/validation/Cursor"
import type * as Brand from "effect/Brand"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export type NodeId = string & Brand.Brand<"NodeId">

/** The last heartbeat of a node, as the database stores it. */
export interface Heartbeat {
  readonly node: NodeId
  /** The database time of the heartbeat as text, only to be compared; null if the node has no row. */
  readonly beatAt: string | null
}

export class Nodes extends Context.Tag("@tollgate/application/Nodes")<
  Nodes,
  {
    /** The id of this process. */
    readonly self: NodeId
    /**
     * Stores a heartbeat of this node with the database time. Returns the last heartbeats of all other nodes that have
     * open holds and have not deregistered.
     */
    readonly beat: Effect.Effect<ReadonlyArray<Heartbeat>>
    /** Deregisters this node. Other nodes then settle its remaining holds without waiting until it counts as dead. */
    readonly leave: Effect.Effect<void>
  }
>() {}

export interface ListedNode {
  /** The time at which the node started, and its id. */
  readonly position: Position
  readonly id: NodeId
  /** `dead`: no heartbeat for too long. `left`: deregistered. */
  readonly state: "alive" | "dead" | "left"
  readonly startedAt: Date
  readonly beatAt: Date
  readonly leftAt: Date | undefined
  readonly openRequests: number
  /** The last migration that its program contains; null if its release does not state it. */
  readonly lastMigration: string | null
}

/** The stored nodes, for operators. When a node starts, it deletes the nodes without a heartbeat in the last week. */
export class NodeList extends Context.Tag("@tollgate/application/NodeList")<
  NodeList,
  {
    /** Returns a page of the nodes, most recently started first. */
    readonly page: (page: CursorPage) => Effect.Effect<ReadonlyArray<ListedNode>>
  }
>() {}

/** Deregisters nodes on behalf of their processes. */
export class EndedNodes extends Context.Tag("@tollgate/application/EndedNodes")<
  EndedNodes,
  {
    /**
     * Deregisters a node whose process has ended, so that other nodes need not wait until its last heartbeat is too
     * old. The caller must be sure that the process has ended.
     */
    readonly deregister: (node: NodeId) => Effect.Effect<void>
  }
>() {}
