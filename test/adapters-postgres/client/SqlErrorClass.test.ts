import {
  ConnectionLost,
  describe as described,
  isConnectionLost,
  isTransient
} from "@tollgate/adapters-postgres/client/SqlErrorClass"
import * as Pg from "pg"
import { describe, expect, it } from "vitest"

const refusal = (code: string) => Object.assign(new Pg.DatabaseError("no", 0, "error"), { code })

describe("trouble of the database", () => {
  it.each([
    ["a deadlock", "40P01"],
    ["a lost race", "40001"],
    ["too many connections", "53300"],
    ["a full disk", "53100"],
    ["a shutdown", "57P01"],
    ["a start", "57P03"],
    ["a statement that took too long", "57014"],
    ["a broken connection", "08006"],
    ["a standby", "25006"],
    ["a plan of an older schema", "0A000"],
    ["a statement that the session has forgotten", "26000"],
    ["a wrong password", "28P01"],
    ["a missing table", "42P01"]
  ])("%s is one", (_, code) => {
    expect(isTransient(refusal(code))).toBe(true)
  })

  it("a lost connection is one", () => {
    expect(isTransient(new ConnectionLost("gone"))).toBe(true)
  })

  it("is a reason for another connection, unless it was only a lost race", () => {
    expect([refusal("25006"), refusal("57P01"), new ConnectionLost("gone")].every(isConnectionLost)).toBe(true)
    expect([refusal("40001"), refusal("40P01"), refusal("23514")].some(isConnectionLost)).toBe(false)
  })

  it.each([
    ["a broken constraint", refusal("23514")],
    ["a number out of range", refusal("22003")],
    ["a row of which there is one", refusal("23505")],
    ["our own mistake", new TypeError("undefined is not a function")]
  ])("%s is none", (_, error) => {
    expect(isTransient(error)).toBe(false)
  })

  it("is told without the row it was about", () => {
    const error = Object.assign(refusal("23514"), { constraint: "fits", detail: "Failing row contains (secret)" })
    expect(described(error)).toBe("23514 no (fits)")
  })
})
