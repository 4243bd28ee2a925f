/**
 * Declares `POST /v1/images/generations` and `POST /v1/images/edits` (docs/reference/images.md).
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { requiresApiKey } from "../openapi/GatewayDocument.ts"
import { DEFAULT_BILLING_HEADER } from "../openapi/HeaderDocs.ts"
import { imageRefusals } from "../openapi/InferenceDocs.ts"

const optional = <A, I>(schema: Schema.Schema<A, I>, description: string) =>
  Schema.optional(schema).annotations({ description })

const fields = {
  model: Schema.String.annotations({ description: "The public name of an image model, as listed by GET /v1/models." }),
  prompt: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(32_000)),
  n: optional(Schema.Literal(1), "The number of images, which is always 1."),
  size: optional(
    Schema.String,
    "`auto` or `<width>x<height>` in pixels: each edge is at most 4096, and width times height is at most 16,777,216."
  ),
  quality: Schema.optional(Schema.Literal("auto", "low", "medium", "high")),
  output_format: optional(Schema.Literal("png", "jpeg", "webp"), "Default: `png`."),
  output_compression: optional(Schema.Int.pipe(Schema.between(0, 100)), "Allowed only with `jpeg` and `webp`."),
  background: optional(Schema.Literal("auto", "opaque", "transparent"), "A JPEG cannot be transparent."),
  response_format: optional(Schema.Literal("b64_json"), "Images are returned in base64, never as URLs."),
  stream: optional(Schema.Literal(false), "Images are not streamed.")
}

const ImageGeneration = Schema.Struct(fields).annotations({
  identifier: "ImageGenerationRequest",
  examples: [{ model: "demo-image", prompt: "A tollgate in the morning", size: "1024x1024" }]
})

const ImageEdit = Schema.Struct({
  ...fields,
  image: Schema.String.annotations({
    description:
      "One PNG, JPEG or WebP file of at most 10 MiB, not animated. The field name `image[]` is also accepted. URLs are " +
      "not accepted.",
    jsonSchema: { type: "string", format: "binary" }
  })
}).annotations({
  identifier: "ImageEditRequest",
  examples: [{ model: "demo-image-edit", prompt: "Raise the barrier", image: "image.png" }]
})

const TokenCounts = Schema.Struct({
  text_tokens: Schema.optional(Schema.Int),
  image_tokens: Schema.optional(Schema.Int),
  cached_tokens: Schema.optional(Schema.Int)
})

const Usage = Schema.Struct({
  input_tokens: Schema.Int,
  output_tokens: Schema.Int,
  total_tokens: Schema.Int,
  input_tokens_details: Schema.optional(TokenCounts),
  output_tokens_details: Schema.optional(TokenCounts)
})

const Image = Schema.Struct({
  created: Schema.Int,
  data: Schema.Tuple(
    Schema.Struct({ b64_json: Schema.String.annotations({ description: "The image file in base64." }) })
  ),
  background: Schema.optional(Schema.String),
  output_format: Schema.optional(Schema.String),
  quality: Schema.optional(Schema.String),
  size: Schema.optional(Schema.String),
  usage: Schema.optional(Usage)
}).annotations({
  identifier: "Image",
  examples: [
    {
      created: 1763620000,
      data: [{ b64_json: "iVBORw0KGgoAAAANSUhEUg..." }],
      usage: { input_tokens: 12, output_tokens: 272, total_tokens: 284 }
    }
  ]
})

/** Declares the header with the billing status of an image. The service name in the header is a setting. */
const withBillingHeader = (operation: Record<string, unknown>): Record<string, unknown> => {
  const responses = operation.responses as Record<string, object>
  const headers = {
    [DEFAULT_BILLING_HEADER]: {
      required: true,
      description: "`settled`, or `unmetered` if the provider reported no output tokens, so that nothing is charged.",
      schema: { type: "string", enum: ["settled", "unmetered"] }
    }
  }
  return { ...operation, responses: { ...responses, "200": { ...responses["200"], headers } } }
}

const behavior =
  `The response header \`${DEFAULT_BILLING_HEADER}\` tells whether the image was charged. The header ` +
  "`Idempotency-Key` is optional and has 1 to 255 visible ASCII " +
  "characters. A second request with the same key returns 409 if the first request is running, or was sent to a " +
  "provider within the last 90 days, because images are not stored. A customer can run one image request at a time. " +
  "Fields that are not listed here are refused."

const createImage = HttpApiEndpoint.post("createImage", "/v1/images/generations")
  .setHeaders(Schema.Struct({ "idempotency-key": Schema.optional(Schema.String) }))
  .setPayload(ImageGeneration)
  .addSuccess(Image)
  .addError(imageRefusals("request_too_large"))
  .annotateContext(
    OpenApi.annotations({
      summary: "Make an image",
      description: behavior,
      override: requiresApiKey,
      transform: withBillingHeader
    })
  )

const createImageEdit = HttpApiEndpoint.post("createImageEdit", "/v1/images/edits")
  .setHeaders(Schema.Struct({ "idempotency-key": Schema.optional(Schema.String) }))
  .setPayload(HttpApiSchema.Multipart(ImageEdit))
  .addSuccess(Image)
  .addError(imageRefusals("image_too_large"))
  .annotateContext(
    OpenApi.annotations({
      summary: "Change an image",
      description: `Models that cannot edit images are refused with \`unsupported_endpoint\`. ${behavior}`,
      override: requiresApiKey,
      transform: withBillingHeader
    })
  )

export class ImagesApi extends HttpApiGroup.make("images")
  .add(createImage)
  .add(createImageEdit)
  .annotateContext(
    OpenApi.annotations({
      title: "Images",
      description: "Images made or changed by a model. Images are returned in the response and never stored."
    })
  ) {}
