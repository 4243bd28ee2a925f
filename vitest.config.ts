import { resolve } from "node:path"
import { setFlagsFromString } from "node:v8"
import { defineConfig } from "vitest/config"
import { SlowFirst } from "./test/support/SlowFirst.ts"

// With the default size of 16 MiB, the garbage collector copies young objects so often that it takes a tenth of the
// processor time of the worker threads.
setFlagsFromString("--min-semi-space-size=64")
setFlagsFromString("--max-semi-space-size=64")

export default defineConfig({
  resolve: {
    // Tests import the sources of each workspace package, so they need neither a build nor links in node_modules.
    alias: [
      { find: /^@tollgate\/([a-z-]+)\/(.+)$/, replacement: resolve(import.meta.dirname, "packages/$1/src/$2.ts") }
    ]
  },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/globalSetup.ts"],
    setupFiles: ["test/support/afterEachFile.ts"],
    sequence: { sequencer: SlowFirst },
    pool: "threads",
    // Many tests wait for processes, timeouts and databases, so with one worker per core the cores would be idle. With a
    // smaller minimum, Tinypool can end a worker twice when the queue is empty, and then the whole run fails.
    poolOptions: { threads: { minThreads: 3, maxThreads: 4 } },
    testTimeout: 30_000,
    // A shared machine can delay a process or a browser, so continuous integration runs a failed test once more.
    retry: Number(process.env.TEST_RETRIES ?? 0),
    hookTimeout: 60_000
  }
})
