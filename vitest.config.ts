import { resolve } from "node:path"
import { defineConfig } from "vitest/config"
import { SlowFirst } from "./test/support/SlowFirst.ts"

/**
 * Flags of V8 that save processor time of the workers.
 *
 * With the default size of 16 MiB, the garbage collector copies young objects so often that it takes a tenth of this
 * time. The memory reducer repeats each full collection up to three times while a worker waits. The cores are busy, so
 * more threads make a collection slower. Most functions run only a few times in each test file, so inlining much code
 * into them costs more than it saves, and their bytecode is kept for the next test file.
 */
const V8_FLAGS = [
  "--min-semi-space-size=64",
  "--max-semi-space-size=64",
  "--no-memory-reducer",
  "--no-parallel-scavenge",
  "--max-inlined-bytecode-size-cumulative=300",
  "--no-flush-bytecode"
]

// The Go runtime of esbuild reads this variable in the workers, where esbuild makes the bundles. With its default of
// 100, garbage collection takes a fifth of the processor time of a bundle.
process.env.GOGC ??= "800"

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
    // A test that starts a process copies the page tables of its worker. One process with all workers would be four
    // times as large, and each start would take up to 0.4 seconds of processor time.
    pool: "forks",
    // Many tests wait for processes, timeouts and databases, so with one worker per core the cores would be idle.
    poolOptions: { forks: { minForks: 3, maxForks: 4, execArgv: V8_FLAGS } },
    // Only a test that hangs reaches these limits, even on a machine that is five times slower than a usual one.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
    // A shared machine can delay a process or a browser, so continuous integration runs a failed test once more.
    retry: Number(process.env.TEST_RETRIES ?? 0)
  }
})
