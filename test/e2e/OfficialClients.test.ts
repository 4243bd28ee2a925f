/**
 * The unmodified official clients of all three protocols against a gateway with a scripted upstream.
 */
import { broken, officialClients, sayings } from "./clients/OfficialClients.ts"
import { scriptedVenue } from "./clients/ScriptedVenue.ts"

officialClients(scriptedVenue(sayings, broken))
