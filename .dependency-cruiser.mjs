/**
 * The arrows of ARCHITECTURE.md, held against every import.
 *
 * Workspace packages are found through their `source` condition, so a rule sees `packages/*\/src`, never `dist`.
 */
const UPSTREAM_OF_DOMAIN = "^(packages/(application|adapters-[a-z]+|simulators|embedded-postgres)|apps)/"

export default {
  forbidden: [
    {
      name: "domain-is-the-center",
      comment: "The domain knows nobody: not the use cases, not the adapters, not the apps.",
      severity: "error",
      from: { path: "^packages/domain/" },
      to: { path: UPSTREAM_OF_DOMAIN }
    },
    {
      name: "domain-imports-effect-only",
      comment: "Pure rules need no platform: the only library of the domain is effect, and nothing of Node.",
      severity: "error",
      from: { path: "^packages/domain/src/" },
      to: { pathNot: "^(packages/domain/src/|node_modules/effect/)" }
    },
    {
      name: "application-sees-domain",
      comment: "Use cases and ports depend on the domain; who implements a port is decided in the apps.",
      severity: "error",
      from: { path: "^packages/application/" },
      to: { path: "^(packages/(adapters-[a-z]+|simulators|embedded-postgres)|apps)/" }
    },
    {
      name: "application-imports-effect-only",
      comment: "A use case that needs a library needs a port instead. Node's types are not an import.",
      severity: "error",
      from: { path: "^packages/application/src/" },
      to: { pathNot: "^(packages/(domain|application)/src/|node_modules/effect/)" }
    },
    {
      name: "adapters-do-not-meet",
      comment: "Two adapters meet only in apps/*/src/Live.ts; what they share is a port.",
      severity: "error",
      from: { path: "^packages/(adapters-[a-z]+)/" },
      to: { path: "^packages/(adapters-[a-z]+|simulators|embedded-postgres)/", pathNot: "^packages/$1/" }
    },
    {
      name: "nobody-imports-an-app",
      comment: "An app is a composition root: nothing is built on top of it, not even the other app.",
      severity: "error",
      from: { path: "^(packages|apps/([a-z]+))/" },
      to: { path: "^apps/", pathNot: "^apps/$2/" }
    },
    {
      name: "no-circular",
      comment: "A cycle means two files are one concept.",
      severity: "error",
      from: {},
      to: { circular: true }
    },
    {
      name: "no-orphans",
      comment: "A file nobody imports is either dead or missing from its Live.ts.",
      severity: "error",
      from: { orphan: true, pathNot: ["^apps/[a-z]+/src/main\\.ts$", "^apps/[a-z]+/bin/", "\\.json$"] },
      to: {}
    },
    {
      name: "no-unresolved",
      comment: "Every import must be a declared dependency or a file that exists.",
      severity: "error",
      from: {},
      to: { couldNotResolve: true }
    },
    {
      name: "no-dev-dependencies-in-production-code",
      comment: "What ships must be installed by a production install.",
      severity: "error",
      from: { path: "^(packages|apps)/[^/]+/src/" },
      to: { dependencyTypes: ["npm-dev"], dependencyTypesNot: ["type-only"] }
    }
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    // Anchored: an unanchored `dist/` would also hide node_modules/effect/dist and blind the library rules.
    exclude: { path: "^(packages|apps)/[^/]+/(dist|node_modules)/" },
    tsPreCompilationDeps: true,
    combinedDependencies: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["source", "import", "node", "default", "types"],
      extensions: [".ts", ".js", ".mjs", ".json"]
    }
  }
}
