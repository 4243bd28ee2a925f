/**
 * Values of the member `error` that state no error. Servers in Go write the last two for an error that is not set.
 */
export const emptyErrors: ReadonlyArray<unknown> = [
  "",
  false,
  {},
  { message: "", type: "", param: "", code: null },
  { message: "", code: 0 }
]
