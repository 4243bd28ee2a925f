/**
 * What a test file leaves behind and nobody else removes: processes of a test that failed, files.
 *
 * A hook registered by a module would run after the first of the files that share it; these run after each.
 */
const removals = new Set<() => unknown>()

/** Carried out once, after the test file that is running. */
export const leave = (removal: () => unknown): void => {
  removals.add(removal)
}

export const removeLeftovers = async (): Promise<void> => {
  const due = [...removals]
  removals.clear()
  await Promise.all(due.map((remove) => remove()))
}
