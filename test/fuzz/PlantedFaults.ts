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
  /** Matches the message of the finding, so that another fault of the copy does not count as its detection. */
  readonly finding: RegExp
  readonly target: FuzzTarget
}

const streamed = (
  protocol: StreamedProtocol,
  about: string,
  finding: RegExp,
  change: (subject: StreamSubject) => StreamSubject
) => ({
  about,
  finding,
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

const ENDS_EARLY = /the stream ends (inside a frame|without a final event or an error frame)/

export const plantedFaults: ReadonlyArray<PlantedFault> = [
  {
    about: "the scanner accepts a body that JSON.parse refuses",
    finding: /the scanner accepts the body: true instead of false/,
    target: jsonBodiesTarget({
      ...jsonBodiesSubject,
      scan: (body) =>
        jsonBodiesSubject.scan(Buffer.from(body.map((byte) => (byte === 0x1f || byte === 0 ? 0x20 : byte))))
    })
  },
  {
    about: "the scanner accepts a repeated member",
    finding: /the scanner accepts the body: true instead of false/,
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
    finding: /chat: the body for a provider is wrong/,
    target: jsonBodiesTarget({
      ...jsonBodiesSubject,
      protocols: {
        chat: { ...(jsonBodiesSubject.protocols.chat as never as object), rewrite: (body: Buffer) => body } as never
      }
    })
  },
  {
    about: "the decoder loses a line feed between two chunks",
    finding: /the events of several chunks/,
    target: eventStreamTarget((pieces) =>
      decodeEvents(pieces.map((piece, i) => (i > 0 && piece[0] === 0x0a ? piece.subarray(1) : piece)))
    )
  },
  streamed("chat", "a failed stream ends without an error frame", ENDS_EARLY, (subject) => ({
    ...subject,
    errorFrames: () => ""
  })),
  streamed(
    "chat",
    "content is delivered but not billed",
    /the billed content/,
    translating((it) => ({ ...it, content: it.content.slice(1) }))
  ),
  streamed(
    "chat",
    "the final `[DONE]` is missing",
    ENDS_EARLY,
    translating((it) => ({ ...it, frames: it.frames.replace("data: [DONE]\n\n", "") }))
  ),
  streamed(
    "messages",
    "a frame is split in two lines",
    /SyntaxError/,
    translating((it) => ({ ...it, frames: it.frames.replace(',"', '\n,"') }))
  ),
  streamed("messages", "a failed stream ends without an error frame", ENDS_EARLY, (subject) => ({
    ...subject,
    errorFrames: () => ""
  })),
  streamed(
    "responses",
    "content is billed twice",
    /the billed content/,
    translating((it) => ({ ...it, content: it.content + it.content }))
  ),
  streamed(
    "responses",
    "an exception is thrown",
    /the planted exception/,
    translating((it) => {
      if (it.content.includes("ä")) throw new Error("the planted exception")
      return it
    })
  ),
  {
    about: "the content of a streamed response is not billed",
    finding: /responses: the billed content/,
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
    finding: /embeddings: the vectors/,
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
    finding: /the result of several chunks/,
    target: editFormTarget((type, pieces) =>
      pieces.length > 3 && pieces.some((piece) => piece.length < 3)
        ? Either.left({ _tag: "InvalidRequest" })
        : readForm(type, pieces)
    )
  },
  {
    about: "width and height are exchanged in a JPEG",
    finding: /the dimensions/,
    target: imageHeaderTarget((bytes) =>
      Either.map(readSource(bytes), (it) =>
        it.format === "jpeg" ? { ...it, widthPx: it.heightPx, heightPx: it.widthPx } : it
      )
    )
  },
  {
    about: "a wrong checksum is accepted",
    finding: /accepts a wrong checksum/,
    target: qrisTarget((text, total) => {
      const fault = faultOfQris(text, total)
      return fault === "its checksum is wrong" ? undefined : fault
    })
  },
  {
    about: "an amount is rounded",
    finding: /usdMicroOf: another value/,
    target: amountsTarget({ ...amountsSubject, usdMicroOf: amountsSubject.floorUsdMicroOf })
  },
  {
    about: "a cursor with a wrong HMAC is accepted",
    finding: /an accepted cursor/,
    target: credentialsTarget({
      ...credentialsSubject,
      openCursor: (cursor) => Option.some(Buffer.from(cursor.split(".")[0] ?? "", "base64url").toString())
    })
  },
  {
    about: "the signature of a token is not checked",
    finding: /accepts a token with a wrong signature/,
    target: credentialsTarget({ ...credentialsSubject, isToken: async () => true })
  },
  {
    about: "the last letter of an address with a checksum is always upper case",
    finding: /the checksum/,
    target: depositAddressTarget({
      ...depositAddressSubject,
      checksummed: (address) =>
        depositAddressSubject.checksummed(address).replace(/[a-f]$/, (digit) => digit.toUpperCase())
    })
  },
  {
    about: "a base URL that cannot be called is accepted",
    finding: /the base URL cannot be called/,
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
    finding: ENDS_EARLY,
    target: relayTarget((received) => received.replace(/data: \[DONE\]\n\n|event: message_stop\n.*\n\n$/, ""))
  },
  {
    about: "an error body has no member `error`",
    finding: /an error without envelope/,
    target: httpTarget(async (port, bytes) => (await exchange(port, bytes)).replace('"error":', '"problem":'))
  }
]
