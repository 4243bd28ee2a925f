/**
 * Cleanup for a test file: processes of a failed test, and files.
 *
 * A hook that a module registers runs only after the first test file that shares the module. These run after each file.
 */
const removals = new Set<() => unknown>()

/** Runs once, after the current test file. */
export const leave = (removal: () => unknown): void => {
  removals.add(removal)
}

export const removeLeftovers = async (): Promise<void> => {
  const due = [...removals]
  removals.clear()
  await Promise.all(due.map((remove) => remove()))
}
