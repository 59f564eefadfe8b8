import { defineConfig } from "vitest/config"
import main from "../vitest.config.ts"

/** The tests measure processor time or memory: a busy machine fails them, so `npm test` leaves them out. */
export default defineConfig({ test: { ...main.test, include: ["bench/costs/*.test.ts"], maxWorkers: 1 } })
