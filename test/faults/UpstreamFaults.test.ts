/**
 * Tests the chat protocol with the upstream faults of the folder `upstream`.
 */

import { faultSuite } from "./upstream/FaultSuite.ts"
import { chatDialect } from "./upstream/OpenAiDialects.ts"
import { refusalFaults } from "./upstream/RefusalFaults.ts"
import { streamFaults } from "./upstream/StreamFaults.ts"
import { wholeResponseFaults } from "./upstream/WholeResponseFaults.ts"

faultSuite(chatDialect, [...streamFaults, ...wholeResponseFaults, ...refusalFaults], 100)
