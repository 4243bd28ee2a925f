/**
 * Tests the unmodified official clients for chat, messages and responses with the server that `npm start` starts.
 */
import { officialClients } from "./clients/OfficialClients.ts"
import { startedServer } from "./clients/StartedServer.ts"

officialClients(startedServer)
