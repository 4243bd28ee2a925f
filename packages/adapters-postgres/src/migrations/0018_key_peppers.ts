/**
 * Adds the name of the pepper under which the MAC of an API key is stored, so that operators see how many keys still
 * need the previous pepper.
 *
 * The name is null if a release before this migration stored the key, and the key was not used since. Such a release
 * ignores the column `pepper_name`, and verifies only keys whose `pepper_version` is 1. Therefore every release writes
 * 1 into `pepper_version`.
 */
export const keyPeppers = /* sql */ `
ALTER TABLE api_key ADD COLUMN pepper_name text;
`
