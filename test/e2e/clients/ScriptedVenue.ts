/**
 * Starts a gateway in this process with a scripted upstream. Words in the request select the script.
 */
import { floorToUsd, UsdPico } from "@tollgate/domain/money/UsdPico"
import type { ReceivedRequest } from "../../support/ScriptedUpstream.ts"
import { TestGateway } from "../../support/TestGateway.ts"
import type { Script, Signal } from "../../support/upstream/Script.ts"
import { chatClient } from "./ChatClient.ts"
import { messagesClients } from "./MessagesClients.ts"
import type { Said } from "./OfficialClient.ts"
import { responsesClient } from "./ResponsesClient.ts"
import type { Venue } from "./Venue.ts"

const clients = [chatClient, ...messagesClients, responsesClient]

/** Returns a function that starts the gateway. If a request contains the words of several sayings, the last saying is used. */
export const scriptedVenue =
  (sayings: ReadonlyArray<readonly [words: string, said: Said]>, broken: Signal) => async (): Promise<Venue> => {
    const gateway = await TestGateway.start({
      provider: { protocols: ["chat", "messages", "responses"] },
      overheard: true
    })
    gateway.upstream.always((request) => scriptFor(request, sayings))
    return {
      url: gateway.url,
      key: gateway.key,
      model: "m",
      price: { input: 1_000_000n, cacheWrite: 1_000_000n, cacheRead: 1_000_000n, output: 2_000_000n },
      credit: UsdPico(1_000_000_000_000n),
      balance: async () => {
        await gateway.settled()
        return floorToUsd((await gateway.balances()).paygPico)
      },
      breakStreams: broken.fire,
      leaks: () => gateway.leaks,
      close: () => gateway.close()
    }
  }

const scriptFor = (request: ReceivedRequest, sayings: ReadonlyArray<readonly [string, Said]>): Script => {
  const client = clients.find(({ path }) => path === request.path)
  const [, said] = sayings.findLast(([words]) => request.body.includes(words)) ?? []
  if (client === undefined || said === undefined) throw new Error(`no script matches the request ${request.body}`)
  return client.upstream(said, (request.json() as { readonly stream?: boolean }).stream === true)
}
