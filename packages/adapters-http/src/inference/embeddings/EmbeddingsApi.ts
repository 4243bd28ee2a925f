/**
 * This file declares `POST /v1/embeddings` for the OpenAPI document. The relay serves the route, and also passes
 * on JSON members that are not declared here.
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { requiresApiKey } from "../../openapi/GatewayDocument.ts"
import { relayRefusals } from "../../openapi/InferenceDocs.ts"

const Text = Schema.String.pipe(Schema.minLength(1))
const TokenArray = Schema.Array(Schema.Int).pipe(Schema.minItems(1))
const many = <A, I>(item: Schema.Schema<A, I>) => Schema.Array(item).pipe(Schema.minItems(1), Schema.maxItems(2_048))

const EmbeddingsRequest = Schema.Struct(
  {
    model: Schema.String.annotations({ description: "The public name of an embedding model, from GET /v1/models." }),
    input: Schema.Union(Text, many(Text), TokenArray, many(TokenArray)).annotations({
      description: "A text, an array of up to 2,048 texts, an array of tokens, or an array of up to 2,048 token arrays."
    }),
    encoding_format: Schema.optional(Schema.String).annotations({
      description: "`float` or `base64` (little-endian 32-bit floats). This value is passed on unchanged."
    }),
    dimensions: Schema.optional(Schema.Int).annotations({ description: "This value is passed on unchanged." }),
    user: Schema.optional(Schema.String).annotations({ description: "This value is passed on unchanged." })
  },
  { key: Schema.String, value: Schema.Unknown }
).annotations({
  identifier: "EmbeddingsRequest",
  description: "Any other member is passed on to the model unchanged. `stream: true` is refused.",
  examples: [{ model: "demo-embedding", input: "Hello" }]
})

const EmbeddingList = Schema.Struct({
  object: Schema.Literal("list"),
  data: Schema.Array(
    Schema.Struct({
      object: Schema.Literal("embedding"),
      index: Schema.Int,
      embedding: Schema.Union(Schema.Array(Schema.Number), Schema.String)
    })
  ),
  model: Schema.String,
  usage: Schema.optional(Schema.Struct({ prompt_tokens: Schema.Int, total_tokens: Schema.Int }))
}).annotations({
  identifier: "EmbeddingList",
  examples: [
    {
      object: "list",
      data: [{ object: "embedding", index: 0, embedding: [0.0023064255, -0.009327292] }],
      model: "demo-embedding",
      usage: { prompt_tokens: 1, total_tokens: 1 }
    }
  ]
})

const createEmbedding = HttpApiEndpoint.post("createEmbedding", "/v1/embeddings")
  .setPayload(EmbeddingsRequest)
  .addSuccess(EmbeddingList)
  .addError(relayRefusals)
  .annotateContext(
    OpenApi.annotations({
      summary: "Create embeddings",
      description:
        "The input tokens are charged to the token plan for the model first, then to the pay-as-you-go balance.",
      override: requiresApiKey
    })
  )

export class EmbeddingsApi extends HttpApiGroup.make("embeddings")
  .add(createEmbedding)
  .annotateContext(
    OpenApi.annotations({
      title: "Embeddings",
      description: "OpenAI's embeddings protocol."
    })
  ) {}
