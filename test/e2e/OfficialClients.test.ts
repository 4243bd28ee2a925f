/**
 * The official clients of all three protocols, unmodified, against a gateway whose supplier is scripted.
 */
import { broken, officialClients, sayings } from "./clients/OfficialClients.ts"
import { scriptedVenue } from "./clients/ScriptedVenue.ts"

officialClients(scriptedVenue(sayings, broken))
