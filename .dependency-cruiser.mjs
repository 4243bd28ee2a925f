/**
 * The arrows of ARCHITECTURE.md, held against every import.
 *
 * Workspace packages are found through their `source` condition, so a rule sees `packages/*\/src`, never `dist`.
 */
const DEVELOPMENT_PACKAGES = "^packages/(simulators|embedded-postgres)/"

export default {
  forbidden: [
    {
      name: "domain-is-the-center",
      comment: "The domain imports no other package: no use cases, no adapters, no apps.",
      severity: "error",
      from: { path: "^packages/domain/" },
      to: { path: "^(packages|apps)/", pathNot: "^packages/domain/" }
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
      comment:
        "Use cases and ports depend on the domain; packages/composition decides which adapter implements a port.",
      severity: "error",
      from: { path: "^packages/application/" },
      to: { path: "^(packages|apps)/", pathNot: "^packages/(domain|application)/" }
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
      comment: "Two adapters meet only in packages/composition and in the apps; what they share is a port.",
      severity: "error",
      from: { path: "^packages/(adapters-[a-z]+)/" },
      to: { path: "^packages/(adapters-[a-z]+|composition)/", pathNot: "^packages/$1/" }
    },
    {
      name: "apps-stand-alone",
      comment: "Nothing is built on top of an app, not even the other app.",
      severity: "error",
      from: { path: "^(packages|apps/([a-z]+))/" },
      to: { path: "^apps/", pathNot: "^apps/$2/" }
    },
    {
      name: "development-packages-stay-in-development",
      comment:
        "Production contains neither the simulators nor the embedded Postgres. Only the development code of an app " +
        "uses them.",
      severity: "error",
      from: {
        path: "^(packages|apps)/",
        pathNot: [DEVELOPMENT_PACKAGES, "^apps/server/src/development/", "^apps/cli/src/runtime/Development\\.ts$"]
      },
      to: { path: DEVELOPMENT_PACKAGES }
    },
    {
      name: "development-packages-load-on-demand",
      comment: "A static import would fail where the package is not installed: use import() instead.",
      severity: "error",
      from: { path: "^apps/" },
      to: { path: DEVELOPMENT_PACKAGES, dynamic: false }
    },
    {
      name: "embedded-postgres-stands-alone",
      comment: "It returns where Postgres listens; connection settings are the Postgres adapter's.",
      severity: "error",
      from: { path: "^packages/embedded-postgres/" },
      to: { path: "^(packages|apps)/", pathNot: "^packages/embedded-postgres/" }
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
      comment: "A file that no other file imports is dead, or missing in the composition.",
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
    },
    {
      name: "no-undeclared-dependencies",
      comment: "Each package lists the libraries that it imports; the manifest of the root does not count.",
      severity: "error",
      from: { path: "^(packages|apps)/[^/]+/src/" },
      to: { dependencyTypes: ["npm-no-pkg", "npm-unknown"] }
    }
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    // Anchored: an unanchored `dist/` would also hide node_modules/effect/dist and blind the library rules.
    exclude: { path: "^(packages|apps)/[^/]+/(dist|node_modules)/" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["source", "import", "node", "default", "types"],
      extensions: [".ts", ".js", ".mjs", ".json"]
    }
  }
}
