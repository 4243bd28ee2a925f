/**
 * The official clients of all three protocols, unmodified, against what `npm start` starts.
 */
import { officialClients } from "./clients/OfficialClients.ts"
import { startedVenue } from "./clients/StartedVenue.ts"

officialClients(startedVenue)
