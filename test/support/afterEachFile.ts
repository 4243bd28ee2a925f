/**
 * Runs after every test file, also where files share their modules.
 */
import { afterAll } from "vitest"
import { removeLeftovers } from "./Leftovers.ts"

afterAll(removeLeftovers)
