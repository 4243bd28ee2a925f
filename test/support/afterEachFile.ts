/**
 * Registers the cleanup that runs after every test file. Vitest loads this module for each file.
 */
import { afterAll } from "vitest"
import { removeLeftovers } from "./Leftovers.ts"

afterAll(removeLeftovers)
