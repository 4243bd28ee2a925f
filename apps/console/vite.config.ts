/**
 * Builds the console to static files in `dist/site`. The names of all files except `index.html` contain a hash of their
 * content. Each hashed file is compressed here, at the highest level, so that the gateway compresses nothing at run
 * time.
 */
import { readdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { brotliCompress, gzip } from "node:zlib"
import { defineConfig, type Plugin } from "vite"

const OUTPUT = join(import.meta.dirname, "dist/site")

const compress = (): Plugin => ({
  name: "compress",
  apply: "build",
  async writeBundle({ dir = OUTPUT }) {
    const folder = join(dir, "assets")
    for (const name of await readdir(folder)) {
      const path = join(folder, name)
      const content = await readFile(path)
      await writeFile(`${path}.br`, await promisify(brotliCompress)(content))
      await writeFile(`${path}.gz`, await promisify(gzip)(content, { level: 9 }))
    }
  }
})

export default defineConfig({
  root: import.meta.dirname,
  base: "/console/",
  build: {
    outDir: OUTPUT,
    target: "es2022",
    // A file that is inlined as a data URL would violate the Content-Security-Policy of the page.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false
  },
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  plugins: [compress()]
})
