/**
 * The unmodified official clients of all three protocols against the server that `npm start` starts.
 */
import { officialClients } from "./clients/OfficialClients.ts"
import { startedVenue } from "./clients/StartedVenue.ts"

officialClients(startedVenue)
