/**
 * Allows embedding models and the embeddings protocol.
 *
 * Every stored row satisfies the old checks, which are narrower than the new checks. Therefore the new check of
 * `settlement`, a large table, is not validated for the stored rows.
 */
export const embeddings = /* sql */ `
ALTER TABLE provider
  DROP CONSTRAINT provider_protocols_check,
  ADD CONSTRAINT provider_protocols_check
    CHECK (cardinality(protocols) > 0 AND protocols <@ ARRAY['chat', 'messages', 'responses', 'images', 'embeddings']);

ALTER TABLE model
  DROP CONSTRAINT model_kind_check,
  ADD CONSTRAINT model_kind_check CHECK (kind IN ('text', 'image', 'embedding'));

ALTER TABLE inference_hold
  DROP CONSTRAINT inference_hold_protocol_check,
  ADD CONSTRAINT inference_hold_protocol_check
    CHECK (protocol IN ('chat', 'messages', 'responses', 'images', 'embeddings'));

ALTER TABLE settlement
  DROP CONSTRAINT settlement_protocol_check,
  ADD CONSTRAINT settlement_protocol_check
    CHECK (protocol IN ('chat', 'messages', 'responses', 'images', 'embeddings')) NOT VALID;
`
