import { ClientBody } from "@tollgate/adapters-http/wire/ClientBody"
import { FastCheck } from "effect"
import { describe, expect, it } from "vitest"
import { property } from "../../support/property.ts"

const text = FastCheck.string({ unit: "grapheme", maxLength: 9 })
const member = FastCheck.string({ unit: "grapheme", minLength: 1, maxLength: 9 })

describe("the body of a client", () => {
  it("can be read after another body was built for a provider", () => {
    const client = Buffer.from('{"model":"short","n":1}')
    const body = new ClientBody(client)
    const model = { start: 9, end: 16 }
    expect(body.forProvider([{ ...model, text: '"a longer name"' }]).toString()).toBe('{"model":"a longer name","n":1}')
    expect(body.bytes()).toEqual(client)
    expect(body.forProvider([{ ...model, text: '"é"' }]).toString()).toBe('{"model":"é","n":1}')
  })

  it("is a new copy after a body was built for a provider", () => {
    const client = Buffer.from("0123")
    const body = new ClientBody(client)
    expect(body.bytes()).toBe(client)
    body.forProvider([{ start: 0, end: 1, text: "new" }])
    expect(body.bytes()).not.toBe(client)
  })

  property(
    "can be restored after any replacements for a provider",
    [text, member, member, text, text, text],
    (before, replaced, after, first, second, last) => {
      const client = Buffer.from(before + replaced + after)
      const start = Buffer.byteLength(before)
      const end = start + Buffer.byteLength(replaced)
      const body = new ClientBody(client)
      body.forProvider([
        { start: end, end: client.length, text: last },
        { start, end, text: first }
      ])
      const isRestored = body.bytes().equals(client)
      const next = body.forProvider([{ start, end, text: second }]).toString()
      return isRestored && next === before + second + after && body.bytes().equals(client)
    }
  )
})
