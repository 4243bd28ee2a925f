/**
 * Injects faults into the responses of the simulated providers.
 */
import { html, json, type WireResponse } from "./payment/SimulatedProvider.ts"

/**
 * The modes `503`, `429` and `html` (an HTML page instead of JSON, with status 200) replace the response of the
 * provider, which then does not process the request. In the modes `hang` and `reset` the provider processes the
 * request, but its response is lost: the connection is reset after a minute (`hang`) or immediately (`reset`).
 */
export const FAULT_MODES = ["none", "503", "429", "hang", "reset", "html"] as const
export type FaultMode = (typeof FAULT_MODES)[number]

const isFaultMode = (mode: unknown): mode is FaultMode => FAULT_MODES.some((each) => each === mode)

/** A response that is not sent: the connection stays open without a response for a minute, or is reset immediately. */
export type LostResponse = "hang" | "reset"

const ALL = "all"

export class WireFault {
  #mode: FaultMode = "none"
  #provider = ALL

  /** Sets the fault for all providers or for one provider. Returns false for an unknown mode or provider. */
  set(mode: unknown, provider: unknown, providers: ReadonlyArray<string>): boolean {
    const named = provider === undefined || provider === "" ? ALL : provider
    if (!isFaultMode(mode) || typeof named !== "string" || ![ALL, ...providers].includes(named)) return false
    this.#mode = mode
    this.#provider = named
    return true
  }

  now(): { readonly mode: FaultMode; readonly provider: string } {
    return { mode: this.#mode, provider: this.#provider }
  }

  /** Returns the response that the caller gets under the current fault. */
  distort(provider: string, respond: () => WireResponse): WireResponse | LostResponse {
    const mode = this.#provider === ALL || this.#provider === provider ? this.#mode : "none"
    switch (mode) {
      case "none":
        return respond()
      case "503":
        return json(503, { message: "Service Unavailable (simulated fault)" })
      case "429":
        return { ...json(429, { message: "Too Many Requests (simulated fault)" }), headers: { "retry-after": "1" } }
      case "html":
        return html("<!doctype html><title>Maintenance</title><h1>We are down for maintenance (simulated fault)</h1>")
      default:
        respond()
        return mode
    }
  }
}
