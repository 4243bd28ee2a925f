import {
  ConnectionLost,
  describe as described,
  isConnectionLost,
  isTransient,
  isUnavailable
} from "@tollgate/adapters-postgres/client/SqlErrorClass"
import * as Pg from "pg"
import { describe, expect, it } from "vitest"

const refusal = (code: string) => Object.assign(new Pg.DatabaseError("no", 0, "error"), { code })

describe("a database error", () => {
  it.each([
    ["a deadlock", "40P01"],
    ["a serialization failure", "40001"],
    ["too many connections", "53300"],
    ["a full disk", "53100"],
    ["a shutdown of the server", "57P01"],
    ["a server that is still starting", "57P03"],
    ["a statement timeout", "57014"],
    ["a connection failure", "08006"],
    ["a read-only standby", "25006"],
    ["a cached plan of an older schema", "0A000"],
    ["a prepared statement that the session does not have", "26000"],
    ["a wrong password", "28P01"],
    ["a missing table", "42P01"]
  ])("is transient when its cause is %s", (_, code) => {
    expect(isTransient(refusal(code))).toBe(true)
  })

  it("is transient when the connection was lost", () => {
    expect(isTransient(new ConnectionLost("gone"))).toBe(true)
  })

  it("counts as a lost connection if another connection might avoid it", () => {
    expect([refusal("25006"), refusal("57P01"), new ConnectionLost("gone")].every(isConnectionLost)).toBe(true)
    expect([refusal("40001"), refusal("40P01"), refusal("23514")].some(isConnectionLost)).toBe(false)
  })

  it.each([
    ["a constraint violation", refusal("23514")],
    ["a number out of range", refusal("22003")],
    ["a duplicate row", refusal("23505")],
    ["a programming error", new TypeError("undefined is not a function")]
  ])("is not transient when its cause is %s", (_, error) => {
    expect(isTransient(error)).toBe(false)
  })

  it("means that the database is unavailable, unless the statement or the schema is wrong", () => {
    const unavailable = ["08006", "25006", "28P01", "40001", "53300", "55000", "57014", "57P01", "57P03"].map(refusal)
    const refused = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" })
    expect([...unavailable, refused, new ConnectionLost("gone")].every(isUnavailable)).toBe(true)
    const wrong = ["23505", "25P02", "42P01", "42501", "22003"].map(refusal)
    expect([...wrong, new TypeError("undefined is not a function"), undefined].some(isUnavailable)).toBe(false)
  })

  it("is described without row values", () => {
    const error = Object.assign(refusal("23514"), { constraint: "fits", detail: "Failing row contains (secret)" })
    expect(described(error)).toBe("23514 no (fits)")
  })
})
