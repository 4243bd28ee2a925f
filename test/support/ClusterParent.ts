import { statfsSync } from "node:fs"
import { tmpdir } from "node:os"

/** The directory of files in memory on Linux, and the space that the databases of a test run need at most. */
const MEMORY = "/dev/shm"
const MEMORY_BYTES = 4 * 2 ** 30

/**
 * Returns the directory for the cluster. A run creates a hundred thousand small files, on which a file system on disk
 * spends a fifth of the CPU time of the run.
 */
export const clusterParent = (): string => {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize >= MEMORY_BYTES ? MEMORY : tmpdir()
  } catch {
    return tmpdir()
  }
}
