import { defineConfig } from "vitest/config"

// Tests run the sources: the `source` condition picks `src/*.ts` of every workspace package.
export default defineConfig({
  resolve: { conditions: ["source"] },
  ssr: { resolve: { conditions: ["source"] } },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/globalSetup.ts"],
    pool: "threads",
    testTimeout: 20_000,
    hookTimeout: 30_000
  }
})
