/**
 * Adds the hosted tools that an operator allows for a model.
 */
export const hostedTools = /* sql */ `
ALTER TABLE model
  ADD COLUMN hosted_tools text[] NOT NULL DEFAULT '{}' CHECK (cardinality(hosted_tools) <= 16),
  ADD CONSTRAINT model_hosted_tools_of_text CHECK (cardinality(hosted_tools) = 0 OR kind = 'text');
`
