/**
 * A planted fault is a target whose subject has one known fault. Its detection shows that the target can fail.
 */
import { readSource } from "@tollgate/adapters-http/images/SourceHeader"
import { faultOf as faultOfQris } from "@tollgate/adapters-upstream/topup/wire/Qris"
import { parseCatalogFile } from "@tollgate/domain/catalog/CatalogFile"
import { Either, Option } from "effect"
import type { FuzzTarget } from "./Target.ts"
import { catalogTarget } from "./targets/Catalogs.ts"
import { credentialsSubject, credentialsTarget } from "./targets/Credentials.ts"
import { depositAddressSubject, depositAddressTarget } from "./targets/DepositAddresses.ts"
import { editFormTarget, readForm } from "./targets/EditForms.ts"
import { decodeEvents, eventStreamTarget } from "./targets/EventStreams.ts"
import { exchange, httpTarget } from "./targets/HttpRequests.ts"
import { imageHeaderTarget } from "./targets/ImageHeaders.ts"
import { jsonBodiesSubject, jsonBodiesTarget } from "./targets/JsonBodies.ts"
import { amountsSubject, amountsTarget, qrisTarget } from "./targets/Payments.ts"
import type { StreamedProtocol } from "./targets/ProviderStreams.ts"
import { relayTarget } from "./targets/Relay.ts"
import { type StreamSubject, streamSubjects, streamTarget } from "./targets/StreamTranslators.ts"
import { wholeResponsesSubject, wholeResponsesTarget } from "./targets/WholeResponses.ts"

export interface PlantedFault {
  readonly about: string
  readonly target: FuzzTarget
}

const streamed = (protocol: StreamedProtocol, about: string, change: (subject: StreamSubject) => StreamSubject) => ({
  about,
  target: streamTarget(protocol, change(streamSubjects[protocol]))
})

const translating =
  (change: (translation: ReturnType<ReturnType<StreamSubject["translator"]>["translate"]>) => typeof translation) =>
  (subject: StreamSubject): StreamSubject => ({
    ...subject,
    translator: () => {
      const translator = subject.translator()
      const fail = translator.fail?.bind(translator)
      return {
        translate: (event) => change(translator.translate(event)),
        close: () => change(translator.close()),
        ...(fail === undefined ? {} : { fail })
      }
    }
  })

export const plantedFaults: ReadonlyArray<PlantedFault> = [
  {
    about: "the scanner accepts a body that JSON.parse refuses",
    target: jsonBodiesTarget({
      ...jsonBodiesSubject,
      scan: (body) =>
        jsonBodiesSubject.scan(Buffer.from(body.map((byte) => (byte === 0x1f || byte === 0 ? 0x20 : byte))))
    })
  },
  {
    about: "the scanner accepts a repeated member",
    target: jsonBodiesTarget({
      ...jsonBodiesSubject,
      scan: (body) =>
        Either.orElse(jsonBodiesSubject.scan(body), (error) =>
          error.message.includes("more than once") ? Either.right({}) : Either.left(error)
        )
    })
  },
  {
    about: "the body for a provider keeps the client's model",
    target: jsonBodiesTarget({
      ...jsonBodiesSubject,
      protocols: {
        chat: { ...(jsonBodiesSubject.protocols.chat as never as object), rewrite: (body: Buffer) => body } as never
      }
    })
  },
  {
    about: "the decoder loses a line feed between two chunks",
    target: eventStreamTarget((pieces) =>
      decodeEvents(pieces.map((piece, i) => (i > 0 && piece[0] === 0x0a ? piece.subarray(1) : piece)))
    )
  },
  streamed("chat", "a failed stream ends without an error frame", (subject) => ({ ...subject, errorFrames: () => "" })),
  streamed(
    "chat",
    "content is delivered but not billed",
    translating((it) => ({ ...it, content: it.content.slice(1) }))
  ),
  streamed(
    "chat",
    "the final `[DONE]` is missing",
    translating((it) => ({ ...it, frames: it.frames.replace("data: [DONE]\n\n", "") }))
  ),
  streamed(
    "messages",
    "a frame is split in two lines",
    translating((it) => ({ ...it, frames: it.frames.replace(',"', '\n,"') }))
  ),
  streamed("messages", "a failed stream ends without an error frame", (subject) => ({
    ...subject,
    errorFrames: () => ""
  })),
  streamed(
    "responses",
    "content is billed twice",
    translating((it) => ({ ...it, content: it.content + it.content }))
  ),
  streamed(
    "responses",
    "an exception is thrown",
    translating((it) => JSON.parse(it.content.includes("ä") ? "{" : JSON.stringify(it)))
  ),
  {
    about: "the content of a streamed response is not billed",
    target: wholeResponsesTarget({
      ...wholeResponsesSubject,
      streamed: {
        ...wholeResponsesSubject.streamed,
        responses: (context, body) =>
          Either.map(wholeResponsesSubject.streamed.responses(context, body), (it) => ({ ...it, content: "" }))
      }
    })
  },
  {
    about: "a number of an embedding is rewritten with fewer digits",
    target: wholeResponsesTarget({
      ...wholeResponsesSubject,
      embeddings: (context, inputs, body) =>
        Either.map(wholeResponsesSubject.embeddings(context, inputs, body), (it) => ({
          ...it,
          body: it.body.replace("-1.50", "-1.5").replace("0.123456789012345678901", "0.1234")
        }))
    })
  },
  {
    about: "a form that arrives in small chunks is refused",
    target: editFormTarget((type, pieces) =>
      pieces.length > 3 && pieces.some((piece) => piece.length < 3)
        ? Either.left({ _tag: "InvalidRequest" })
        : readForm(type, pieces)
    )
  },
  {
    about: "width and height are exchanged in a JPEG",
    target: imageHeaderTarget((bytes) =>
      Either.map(readSource(bytes), (it) =>
        it.format === "jpeg" ? { ...it, widthPx: it.heightPx, heightPx: it.widthPx } : it
      )
    )
  },
  {
    about: "a wrong checksum is accepted",
    target: qrisTarget((text, total) => {
      const fault = faultOfQris(text, total)
      return fault === "its checksum is wrong" ? undefined : fault
    })
  },
  {
    about: "an amount is rounded",
    target: amountsTarget({ ...amountsSubject, usdMicroOf: amountsSubject.floorUsdMicroOf })
  },
  {
    about: "a cursor with a wrong HMAC is accepted",
    target: credentialsTarget({
      ...credentialsSubject,
      openCursor: (cursor) => Option.some(Buffer.from(cursor.split(".")[0] ?? "", "base64url").toString())
    })
  },
  {
    about: "the signature of a token is not checked",
    target: credentialsTarget({ ...credentialsSubject, isToken: async () => true })
  },
  {
    about: "the last letter of an address with a checksum is always upper case",
    target: depositAddressTarget({
      ...depositAddressSubject,
      checksummed: (address) =>
        depositAddressSubject.checksummed(address).replace(/[a-f]$/, (digit) => digit.toUpperCase())
    })
  },
  {
    about: "a base URL that cannot be called is accepted",
    target: catalogTarget((json) => {
      const text = JSON.stringify(json)
      const broken = text.includes("https://%zz/")
      return Either.map(parseCatalogFile(JSON.parse(text.replaceAll("https://%zz/", "https://a.example/"))), (terms) =>
        broken ? { ...terms, providers: terms.providers.map((it) => ({ ...it, baseUrl: "https://%zz" })) } : terms
      )
    })
  },
  {
    about: "the client receives no final event of a stream",
    target: relayTarget((received) => received.replace(/data: \[DONE\]\n\n|event: message_stop\n.*\n\n$/, ""))
  },
  {
    about: "an error body has no member `error`",
    target: httpTarget(async (port, bytes) => (await exchange(port, bytes)).replace('"error":', '"problem":'))
  }
]
