/**
 * Adds the name of the last migration that the program of a node contains, so that `tollgate migrate` sees whether a
 * node can run after a migration. A node of a release before this migration leaves the name null.
 */
export const nodeVersions = /* sql */ `
ALTER TABLE gateway_node ADD COLUMN last_migration text;
`
