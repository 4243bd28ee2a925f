/**
 * Checks every import against the layers of ARCHITECTURE.md.
 *
 * Imports of workspace packages resolve to `packages/*\/src` and never to `dist`, because of the `source` condition in
 * the options below.
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
      comment: "The domain imports no library except effect, and no module of Node.js.",
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
      comment: "The application imports no library except effect. A use case that needs another library calls a port.",
      severity: "error",
      from: { path: "^packages/application/src/" },
      to: { pathNot: "^(packages/(domain|application)/src/|node_modules/effect/)" }
    },
    {
      name: "adapters-do-not-meet",
      comment:
        "An adapter imports no other adapter; packages/composition and the apps combine adapters. A type that two adapters need belongs to a port.",
      severity: "error",
      from: { path: "^packages/(adapters-[a-z]+)/" },
      to: { path: "^packages/(adapters-[a-z]+|composition)/", pathNot: "^packages/$1/" }
    },
    {
      name: "apps-stand-alone",
      comment: "No package and no other app imports an app.",
      severity: "error",
      from: { path: "^(packages|apps/([a-z]+))/" },
      to: { path: "^apps/", pathNot: "^apps/$2/" }
    },
    {
      name: "console-runs-in-the-browser",
      comment:
        "The console uses the public interface of the gateway, and shares only style sheets and a browser script with it.",
      severity: "error",
      from: { path: "^apps/console/src/" },
      to: {
        path: "^(packages|apps)/",
        pathNot: [
          "^apps/console/",
          "^packages/adapters-http/assets/[a-z]+\\.css$",
          "^packages/adapters-http/assets/rankings/browser-language\\.js$"
        ]
      }
    },
    {
      name: "development-packages-stay-in-development",
      comment:
        "Production contains neither the simulators nor the embedded Postgres. Only the development code of an app " +
        "imports them.",
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
      comment: "The embedded Postgres imports no other package of the repository.",
      severity: "error",
      from: { path: "^packages/embedded-postgres/" },
      to: { path: "^(packages|apps)/", pathNot: "^packages/embedded-postgres/" }
    },
    {
      name: "no-circular",
      comment: "Files that import each other in a circle belong to one concept: join them.",
      severity: "error",
      from: {},
      to: { circular: true }
    },
    {
      name: "no-orphans",
      comment: "A file that no other file imports is unused, or its import is missing in packages/composition.",
      severity: "error",
      from: {
        orphan: true,
        pathNot: [
          "^apps/[a-z]+/src/main\\.tsx?$",
          "^apps/[a-z]+/bin/",
          "/assets/(docs/docs|rankings/browser-language)\\.js$",
          "\\.(json|d\\.ts)$"
        ]
      },
      to: {}
    },
    {
      name: "no-unresolved",
      comment: "Every import must be a declared dependency or a file that exists.",
      severity: "error",
      from: {},
      // `npm run check` makes the types of the console's client.
      to: { couldNotResolve: true, pathNot: "dist/types/GatewayApi\\.d\\.ts$" }
    },
    {
      name: "no-dev-dependencies-in-production-code",
      comment: "Production code imports only libraries that a production install contains.",
      severity: "error",
      // The build of the console contains the code of its libraries.
      from: { path: "^(packages|apps)/[^/]+/src/", pathNot: "^apps/console/" },
      to: { dependencyTypes: ["npm-dev"], dependencyTypesNot: ["type-only"] }
    },
    {
      name: "no-undeclared-dependencies",
      comment:
        "Each package.json lists the libraries that its package imports. The package.json of the repository does not count.",
      severity: "error",
      from: { path: "^(packages|apps)/[^/]+/src/" },
      to: { dependencyTypes: ["npm-no-pkg", "npm-unknown"] }
    }
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    // The pattern begins with ^, because `dist/` alone would also exclude node_modules/effect/dist, and the rules about
    // libraries would then never report an import.
    exclude: { path: "^(packages|apps)/[^/]+/(dist|node_modules)/" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["source", "import", "node", "default", "types"],
      extensions: [".ts", ".tsx", ".js", ".mjs", ".json"]
    }
  }
}
