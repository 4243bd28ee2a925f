/**
 * The running servers, as the database knows them: a node that stops beating is dead and its holds are swept.
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
    /** Says that this node is alive, by the database's clock. */
    readonly beat: Effect.Effect<void>
    /** Says goodbye: what this node leaves behind may be swept at once. */
    readonly leave: Effect.Effect<void>
  }
>() {}
