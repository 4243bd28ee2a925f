/**
 * Tests the unmodified official clients for chat, messages and responses with the server that `npm start` starts.
 */
import { officialClients } from "./clients/OfficialClients.ts"
import { startedVenue } from "./clients/StartedVenue.ts"

officialClients(startedVenue)
