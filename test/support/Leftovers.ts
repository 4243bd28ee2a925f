/**
 * Cleans up after each test file: kills the processes that a failed test left running, and deletes files.
 *
 * Test files can share modules, and an `afterAll` hook that a shared module registers runs only after the first file.
 * So `afterEachFile.ts` calls {@link removeLeftovers} after every file.
 */
const removals = new Set<() => unknown>()

export const cleanUpAfterFile = (removal: () => unknown): void => {
  removals.add(removal)
}

export const removeLeftovers = async (): Promise<void> => {
  const due = [...removals]
  removals.clear()
  await Promise.all(due.map((remove) => remove()))
}
