/**
 * These functions build the parts of a request to a provider that several protocols share.
 */
import type { ClientBody } from "../../wire/ClientBody.ts"
import type { ScannedMember } from "../../wire/JsonScan.ts"

/** Returns the headers for a JSON body. The gateway parses responses, so it requests them uncompressed. */
export const jsonHeaders = (streamed: boolean): Record<string, string> => ({
  "content-type": "application/json",
  accept: streamed ? "text/event-stream" : "application/json",
  "accept-encoding": "identity"
})

/** A client's body, and the position of its `model` member. */
interface BodyWithModel {
  readonly body: ClientBody
  readonly members: { readonly model?: ScannedMember | undefined }
}

/** Returns the client's body with another value of `model`. All other bytes are unchanged. */
export const withUpstreamModel = ({ body, members: { model } }: BodyWithModel, upstreamModel: string): Uint8Array =>
  body.forProvider(
    model === undefined ? [] : [{ start: model.start, end: model.end, text: JSON.stringify(upstreamModel) }]
  )
