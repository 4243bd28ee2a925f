import { chatProtocol } from "@tollgate/adapters-http/inference/chat/ChatProtocol"
import { messagesProtocol } from "@tollgate/adapters-http/inference/messages/MessagesProtocol"
import { usageIn } from "@tollgate/adapters-http/inference/relay/UpstreamFailure"
import { responsesProtocol } from "@tollgate/adapters-http/inference/responses/ResponsesProtocol"
import { unreported } from "@tollgate/domain/inference/ReportedUsage"
import { describe, expect, it } from "vitest"

const rows = [
  { protocol: chatProtocol, answer: { choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } } },
  { protocol: messagesProtocol, answer: { content: null, usage: { input_tokens: 7, output_tokens: 3 } } },
  { protocol: responsesProtocol, answer: { status: "failed", usage: { input_tokens: 7, output_tokens: 3 } } }
]

describe("what was used for an answer that is none", () => {
  for (const { answer, protocol } of rows) {
    it(`is read where a supplier says it (${protocol.protocol})`, () => {
      expect(usageIn(protocol, Buffer.from(JSON.stringify(answer)))).toMatchObject({
        prompt: { input: 7n },
        output: 3n
      })
    })

    it(`is unknown where there is nothing to read (${protocol.protocol})`, () => {
      for (const body of ["", "null", "[]", "<html>", JSON.stringify({ ...answer, usage: undefined })]) {
        expect(usageIn(protocol, Buffer.from(body))).toEqual(unreported)
      }
    })
  }
})
