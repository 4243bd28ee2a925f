import { intendedPath, methodsOf } from "@tollgate/adapters-http/server/RouteHint"
import { describe, expect, it } from "vitest"

const routes = [
  { method: "POST", path: "/v1/messages" },
  { method: "GET", path: "/v1/models" },
  { method: "GET", path: "/v1/models/:model" },
  { method: "POST", path: "/api/reseller/customers/:userID/keys" },
  { method: "GET", path: "/docs" }
]

describe("the suggested route", () => {
  it.each([
    ["/messages", "/v1/messages"],
    ["/v1/v1/messages", "/v1/messages"],
    ["/v1/v1/v1/models/x", "/v1/models/x"],
    ["/v1/docs", "/docs"],
    ["/v1//messages", "/v1/messages"]
  ])("for %s is %s", (path, suggested) => {
    expect(intendedPath(routes, path)).toBe(suggested)
  })

  it.each(["/", "/v1", "/v2/messages", "/messages/x"])("is absent for %s", (path) => {
    expect(intendedPath(routes, path)).toBeUndefined()
  })
})

it("a path that matches a route with parameters has the methods of the route", () => {
  expect(methodsOf(routes, "/v1/models/anything")).toEqual(["GET", "HEAD"])
  expect(methodsOf(routes, "/api/reseller/customers/u1/keys")).toEqual(["POST"])
  expect(methodsOf(routes, "/api/reseller/customers//x/keys")).toEqual([])
})
