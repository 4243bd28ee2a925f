import { defineConfig } from "vitest/config"

// Tests run the sources: the `source` condition picks `src/*.ts` of every workspace package.
export default defineConfig({
  resolve: { conditions: ["source"] },
  ssr: { resolve: { conditions: ["source"] } },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/globalSetup.ts"],
    setupFiles: ["test/support/afterEachFile.ts"],
    // eventsource-parser publishes sources under the same condition, which Node cannot run; the others load it.
    server: { deps: { inline: [/\/node_modules\/(ai|@ai-sdk|eventsource-parser)\//] } },
    pool: "threads",
    // Much of the suite waits for processes, timeouts and databases; one worker a core would leave the cores idle.
    poolOptions: { threads: { minThreads: 2, maxThreads: 3 } },
    testTimeout: 20_000,
    hookTimeout: 30_000
  }
})
