/**
 * Tests the unmodified official clients for chat, messages and responses with a gateway and a scripted upstream.
 */
import { broken, officialClients, scriptedContents } from "./clients/OfficialClients.ts"
import { scriptedGateway } from "./clients/ScriptedGateway.ts"

officialClients(scriptedGateway(scriptedContents, broken))
