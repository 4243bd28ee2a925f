/**
 * Suppliers of chat completions that fail, in every way there is.
 */
import { answerFaults } from "./upstream/AnswerFaults.ts"
import { faultSuite } from "./upstream/FaultSuite.ts"
import { chatDialect } from "./upstream/OpenAiDialects.ts"
import { refusalFaults } from "./upstream/RefusalFaults.ts"
import { streamFaults } from "./upstream/StreamFaults.ts"

faultSuite(chatDialect, [...streamFaults, ...answerFaults, ...refusalFaults], 100)
