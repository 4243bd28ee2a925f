/**
 * Starts a gateway in this process with a scripted upstream. Words in the request select the script.
 */
import { floorToUsd, UsdPico } from "@tollgate/domain/money/UsdPico"
import type { ReceivedRequest } from "../../support/ScriptedUpstream.ts"
import { TestGateway } from "../../support/TestGateway.ts"
import type { Script, Signal } from "../../support/upstream/Script.ts"
import { chatClient } from "./ChatClient.ts"
import type { GatewayUnderTest } from "./GatewayUnderTest.ts"
import { messagesClients } from "./MessagesClients.ts"
import type { ScriptedContent } from "./OfficialClient.ts"
import { responsesClient } from "./ResponsesClient.ts"

const clients = [chatClient, ...messagesClients, responsesClient]

/**
 * Returns a function that starts the gateway. If a request contains the words of several scripts, the last script is
 * used.
 */
export const scriptedGateway =
  (scriptedContents: ReadonlyArray<readonly [words: string, scripted: ScriptedContent]>, broken: Signal) =>
  async (): Promise<GatewayUnderTest> => {
    const gateway = await TestGateway.start({
      provider: { protocols: ["chat", "messages", "responses"] },
      recorded: true
    })
    gateway.upstream.always((request) => scriptFor(request, scriptedContents))
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

const scriptFor = (
  request: ReceivedRequest,
  scriptedContents: ReadonlyArray<readonly [string, ScriptedContent]>
): Script => {
  const client = clients.find(({ path }) => path === request.path)
  const [, scripted] = scriptedContents.findLast(([words]) => request.body.includes(words)) ?? []
  if (client === undefined || scripted === undefined) throw new Error(`no script matches the request ${request.body}`)
  return client.upstream(scripted, (request.json() as { readonly stream?: boolean }).stream === true)
}
