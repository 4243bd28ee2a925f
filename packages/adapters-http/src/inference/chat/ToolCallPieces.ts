/**
 * The tool calls of one choice, piece by piece. Clients put pieces together by `index` and want a `type` on the first
 * piece of each; some suppliers leave out one or the other.
 */
import { asObject, asText, type JsonObject } from "@tollgate/domain/inference/Json"
import { withoutSupplierMembers } from "../../wire/ProviderMembers.ts"

/** No answer has more calls; ids beyond are not remembered. */
const MAX_REMEMBERED = 1_000

export class ToolCallPieces {
  readonly #indexOfId = new Map<string, number>()
  readonly #begun = new Set<number>()
  #last = -1

  get any(): boolean {
    return this.#last >= 0
  }

  complete(pieces: ReadonlyArray<unknown>): ReadonlyArray<JsonObject> {
    const completed: Array<JsonObject> = []
    for (const item of pieces) {
      const object = asObject(item)
      if (object === undefined) continue
      const piece = withoutSupplierMembers(object)
      const index = this.#indexOf(piece)
      const first = !this.#begun.has(index)
      if (this.#begun.size < MAX_REMEMBERED) this.#begun.add(index)
      const type = piece.type ?? (first ? typeOf(piece) : undefined)
      completed.push(
        piece.index === index && type === piece.type
          ? piece
          : { ...piece, index, ...(type === undefined ? {} : { type }) }
      )
    }
    return completed
  }

  #indexOf(piece: JsonObject): number {
    const id = asText(piece.id)
    const known = id === "" ? undefined : this.#indexOfId.get(id)
    const index = given(piece.index) ?? known ?? (this.#begins(piece, id) ? this.#last + 1 : this.#last)
    if (id !== "" && known === undefined && this.#indexOfId.size < MAX_REMEMBERED) this.#indexOfId.set(id, index)
    this.#last = index
    return index
  }

  /** A piece that does not say which call it belongs to begins one when it has an id or a name, or is the first. */
  #begins(piece: JsonObject, id: string): boolean {
    return this.#last < 0 || id !== "" || asText(asObject(piece.function)?.name) !== ""
  }
}

const given = (index: unknown): number | undefined =>
  typeof index === "number" && Number.isInteger(index) && index >= 0 ? index : undefined

const typeOf = (piece: JsonObject): string => (piece.custom === undefined ? "function" : "custom")
