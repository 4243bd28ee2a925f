/**
 * Tests every upstream fault in the chat protocol.
 */
import { answerFaults } from "./upstream/AnswerFaults.ts"
import { faultSuite } from "./upstream/FaultSuite.ts"
import { chatDialect } from "./upstream/OpenAiDialects.ts"
import { refusalFaults } from "./upstream/RefusalFaults.ts"
import { streamFaults } from "./upstream/StreamFaults.ts"

faultSuite(chatDialect, [...streamFaults, ...answerFaults, ...refusalFaults], 100)
