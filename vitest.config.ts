import { defineConfig } from "vitest/config"

// Tests run the sources: the `source` condition picks `src/*.ts` of every workspace package.
const sources = { resolve: { conditions: ["source"] }, ssr: { resolve: { conditions: ["source"] } } }
const postgres = "test/support/globalSetup.ts"

/** Files that share a worker load everything once; most of what a small suite costs is loading. */
const sharing = ["test/domain/**/*.test.ts", "test/adapters-postgres/**/*.test.ts", "test/adapters-http/**/*.test.ts"]
/** Sets the clock of its worker. */
const clockSetters = ["test/adapters-http/auth/**/*.test.ts"]

export default defineConfig({
  test: {
    pool: "threads",
    // Much of the suite waits for processes, timeouts and databases; one worker a core would leave the cores idle.
    poolOptions: { threads: { minThreads: 2, maxThreads: 3 } },
    projects: [
      {
        ...sources,
        test: {
          name: "sharing",
          include: sharing,
          exclude: clockSetters,
          globalSetup: [postgres],
          isolate: false,
          testTimeout: 20_000,
          hookTimeout: 30_000
        }
      },
      {
        ...sources,
        test: {
          name: "alone",
          include: ["test/!(domain|adapters-postgres|adapters-http)/**/*.test.ts", "test/*.test.ts", ...clockSetters],
          globalSetup: [postgres],
          testTimeout: 20_000,
          hookTimeout: 30_000
        }
      }
    ]
  }
})
