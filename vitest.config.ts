import { resolve } from "node:path"
import { defineConfig } from "vitest/config"

export default defineConfig({
  resolve: {
    // Tests run the sources of every workspace package, which needs no build and no links in node_modules.
    alias: [
      { find: /^@tollgate\/([a-z-]+)\/(.+)$/, replacement: resolve(import.meta.dirname, "packages/$1/src/$2.ts") }
    ]
  },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/globalSetup.ts"],
    setupFiles: ["test/support/afterEachFile.ts"],
    pool: "threads",
    // Much of the suite waits for processes, timeouts and databases; one worker a core would leave the cores idle.
    poolOptions: { threads: { minThreads: 2, maxThreads: 3 } },
    testTimeout: 20_000,
    hookTimeout: 30_000
  }
})
