/**
 * Tools behind which another model works: a supplier would run it on our account, past the catalog and past the price
 * the request is charged at, so they are refused.
 */
import { InvalidRequest } from "@tollgate/domain/inference/InferenceErrors"
import { asArray, asObject } from "@tollgate/domain/inference/Json"
import type { ScannedMember } from "../../wire/JsonScan.ts"

const PICTURES = "image_generation"

export const otherModelsTool = (body: Buffer, tools: ScannedMember | undefined): InvalidRequest | undefined =>
  tools !== undefined && asksForPictures(body.subarray(tools.start, tools.end))
    ? new InvalidRequest({
        message: `'tools' must not hold '${PICTURES}': pictures are made by models of their own, at /v1/images.`,
        param: "tools"
      })
    : undefined

/** Tool definitions are long and sent with every request: read only when the word is in them, or may be, escaped. */
const asksForPictures = (tools: Buffer): boolean =>
  (tools.includes(PICTURES) || tools.includes("\\u")) &&
  asArray(JSON.parse(tools.toString())).some((tool) => asObject(tool)?.type === PICTURES)
