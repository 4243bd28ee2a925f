/**
 * Builds the image request for a provider. The request contains the provider's model name, and only the members that
 * the gateway supports.
 */
import { randomBytes } from "node:crypto"
import type { UpstreamRequest } from "@tollgate/application/inference/Upstreams"
import type { Candidate } from "@tollgate/domain/catalog/Catalog"
import type { ImageRequest, SourceFormat } from "@tollgate/domain/images/ImageRequest"

export const upstreamImageRequest = (request: ImageRequest, candidate: Candidate): UpstreamRequest => {
  const members = { model: candidate.route.upstreamModel, ...request.members }
  return request.source === undefined
    ? {
        candidate,
        path: "/images/generations",
        headers: { "content-type": "application/json", accept: "application/json" },
        body: Buffer.from(JSON.stringify(members))
      }
    : { candidate, path: "/images/edits", ...form(members, request.source) }
}

const extensions: { readonly [Format in SourceFormat]: string } = { png: "png", jpeg: "jpg", webp: "webp" }

/**
 * Builds a multipart form. The boundary is random, so that a field value cannot contain the boundary and end its part.
 */
const form = (members: Readonly<Record<string, string | number>>, source: NonNullable<ImageRequest["source"]>) => {
  const boundary = `form-${randomBytes(24).toString("hex")}`
  const texts = Object.entries(members).map(
    ([name, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  )
  const head =
    `${texts.join("")}--${boundary}\r\ncontent-disposition: form-data; name="image"; ` +
    `filename="image.${extensions[source.format]}"\r\ncontent-type: image/${source.format}\r\n\r\n`
  return {
    headers: { "content-type": `multipart/form-data; boundary=${boundary}`, accept: "application/json" },
    body: Buffer.concat([Buffer.from(head), source.bytes, Buffer.from(`\r\n--${boundary}--\r\n`)])
  }
}
