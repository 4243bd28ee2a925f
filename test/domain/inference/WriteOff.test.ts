import { type SettledRequest, writeOffReason, writeOffReasons } from "@tollgate/domain/inference/WriteOff"
import { describe, expect, it } from "vitest"

const stream: SettledRequest = { protocol: "chat", streamed: true, ending: "complete", source: "upstream" }

describe("the reason of a write-off", () => {
  it.each<[label: string, reason: string, settled: Partial<SettledRequest>]>([
    ["a whole response", "whole_response", { streamed: false }],
    ["an embeddings response", "whole_response", { protocol: "embeddings", streamed: false }],
    ["a whole response with a local count", "whole_response", { streamed: false, source: "local" }],
    ["a complete stream with reported usage", "reported_usage", {}],
    ["a complete stream with partly reported usage", "reported_usage", { source: "mixed" }],
    ["a stream cut after its prompt was reported", "reported_usage", { ending: "client_gone", source: "mixed" }],
    ["a cut stream with a local count", "prompt_count", { ending: "balance_exhausted", source: "local" }],
    ["a complete stream with a local count", "prompt_count", { source: "local" }],
    ["an image", "image", { protocol: "images", streamed: false }],
    ["a stream of a dead node", "orphaned", { ending: "orphaned", source: "checkpoint" }]
  ])("of %s is %s", (_, reason, settled) => {
    expect(writeOffReason({ ...stream, ...settled })).toBe(reason)
    expect(writeOffReasons).toContain(reason)
  })
})
