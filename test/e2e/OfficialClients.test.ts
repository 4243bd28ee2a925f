/**
 * Tests the unmodified official clients for chat, messages and responses with a gateway and a scripted upstream.
 */
import { broken, officialClients, sayings } from "./clients/OfficialClients.ts"
import { scriptedVenue } from "./clients/ScriptedVenue.ts"

officialClients(scriptedVenue(sayings, broken))
