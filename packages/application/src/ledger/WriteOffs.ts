/**
 * Sums the write-offs of this process since its start, by reason. The stores add the write-off of each committed
 * settlement, and the metrics read the sums.
 */
import { type WriteOffReason, writeOffReasons } from "@tollgate/domain/inference/WriteOff"
import * as UsdPico from "@tollgate/domain/money/UsdPico"
import * as Context from "effect/Context"

export class WriteOffSums {
  readonly #sums = new Map<WriteOffReason, UsdPico.UsdPico>(writeOffReasons.map((reason) => [reason, UsdPico.zero]))

  add(reason: WriteOffReason, writtenOff: UsdPico.UsdPico): void {
    this.#sums.set(reason, UsdPico.UsdPico(this.of(reason) + writtenOff))
  }

  of(reason: WriteOffReason): UsdPico.UsdPico {
    return this.#sums.get(reason) ?? UsdPico.zero
  }
}

/** The sums of this process. A `Context.Reference` has a default value, so no layer has to provide it. */
export class WriteOffs extends Context.Reference<WriteOffs>()("@tollgate/application/WriteOffs", {
  defaultValue: () => new WriteOffSums()
}) {}
