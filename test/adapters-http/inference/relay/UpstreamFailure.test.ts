import { chatProtocol } from "@tollgate/adapters-http/inference/chat/ChatProtocol"
import { messagesProtocol } from "@tollgate/adapters-http/inference/messages/MessagesProtocol"
import { usageIn } from "@tollgate/adapters-http/inference/relay/UpstreamFailure"
import { responsesProtocol } from "@tollgate/adapters-http/inference/responses/ResponsesProtocol"
import { unreported } from "@tollgate/domain/inference/ReportedUsage"
import { describe, expect, it } from "vitest"

const rows = [
  { protocol: chatProtocol, response: { choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } } },
  { protocol: messagesProtocol, response: { content: null, usage: { input_tokens: 7, output_tokens: 3 } } },
  { protocol: responsesProtocol, response: { status: "failed", usage: { input_tokens: 7, output_tokens: 3 } } }
]

describe("the usage in an undeliverable response", () => {
  for (const { response, protocol } of rows) {
    it(`is read in the ${protocol.protocol} protocol`, () => {
      expect(usageIn(protocol, Buffer.from(JSON.stringify(response)))).toMatchObject({
        prompt: { input: 7n },
        output: 3n
      })
    })

    it(`is unreported if the ${protocol.protocol} body contains none`, () => {
      for (const body of ["", "null", "[]", "<html>", JSON.stringify({ ...response, usage: undefined })]) {
        expect(usageIn(protocol, Buffer.from(body))).toEqual(unreported)
      }
    })
  }
})
