/**
 * Lists the proofs of `npm run proof`. Each proof runs a program or a part of the test suite, and tests one guarantee
 * of the README or of SECURITY.md. Several proofs use larger numbers than `npm test`.
 */

/**
 * The numbers of one run. `--scale` multiplies the full numbers, so that a short run can check the programs themselves.
 */
export interface Scale {
  readonly of: (full: number) => number
  /** The duration of the soak. */
  readonly soakMinutes: number
}

/** The number that a proof must reach. The proof ends earlier if its time is over. */
export interface Count {
  /** The figure that the program records. */
  readonly figure: string
  readonly required: (scale: Scale) => number
  /** The time limit as a share of the duration of the soak. */
  readonly timeShare: number
}

export interface Proof {
  readonly name: string
  readonly promise: string
  /** The numbers that the run must reach. The program must also succeed. */
  readonly required: (scale: Scale) => string
  /** The command of the repository that tests the guarantee. */
  readonly command: (scale: Scale) => Command
  readonly count?: Count
  /**
   * "alone": compares latencies, so nothing else may run. "beside": counts, so two proofs run at the same time. "soak":
   * runs during all proofs that are "beside".
   */
  readonly load: "alone" | "beside" | "soak"
}

export interface Command {
  readonly environment: Readonly<Record<string, string>>
  /** The test files of a vitest run, or the program and its arguments. */
  readonly run: { readonly tests: ReadonlyArray<string> } | { readonly program: ReadonlyArray<string> }
}

export interface Result {
  readonly proof: Proof
  readonly command: string
  readonly passed: boolean
  readonly seconds: number
  /** Each figure as a name and a value. */
  readonly figures: ReadonlyArray<readonly [name: string, value: string]>
}

const tests = (files: ReadonlyArray<string>, environment: Command["environment"] = {}): Command => ({
  environment,
  run: { tests: files }
})
const program = (...args: ReadonlyArray<string>): Command => ({ environment: {}, run: { program: args } })

const KILLS = 1_000
const DATABASE_FAULTS = 500
const EARLY_KILLS = 50
const RESELLER_KILLS = 25
const FUZZ_INPUTS = 10_000_000
const IDLE_CONNECTIONS = 5_000
const HISTORIES = 1_000_000

const count = (value: number): string => value.toLocaleString("en-US")

export const proofs: ReadonlyArray<Proof> = [
  {
    name: "hostile-bodies",
    promise: "A customer without a balance cannot exhaust the memory or block the event loop with large bodies.",
    required: () =>
      "ten kinds of bodies of 31 MiB, three at the same time: memory growth below 200 MiB, /healthz below 100 ms, p99 of other chats at most doubled",
    command: () => program("test/proof/HostileBodies.ts"),
    load: "alone"
  },
  {
    name: "fair-shares",
    promise: "One client, reseller or provider cannot prevent the service for the others.",
    required: () => "eight attacks: every chat of other customers gets 200, p99 at most doubled",
    command: () => program("test/proof/FairShares.ts"),
    load: "alone"
  },
  {
    name: "kill-9",
    promise: "A killed server loses no request and charges no request twice or for more than the client received.",
    required: ({ of }) => `${count(of(KILLS))} servers killed while they stream`,
    command: ({ of }) => tests(["test/faults/Crash.test.ts"], { KILLS: String(of(KILLS)) }),
    count: { figure: "servers killed", required: ({ of }) => of(KILLS), timeShare: 0.8 },
    load: "beside"
  },
  {
    name: "early-call",
    promise:
      "A request is sent to the provider before its hold is durable, but nothing is delivered or charged before.",
    required: ({ of }) => `${count(of(EARLY_KILLS))} servers killed while their database is frozen`,
    command: ({ of }) => tests(["test/faults/EarlyCall.test.ts"], { KILLS: String(of(EARLY_KILLS)) }),
    load: "beside"
  },
  {
    name: "kill-9-reseller",
    promise: "Orders, mints and keys are stored completely or not at all.",
    required: ({ of }) => `${count(of(RESELLER_KILLS))} servers killed while resellers work`,
    command: ({ of }) => tests(["test/faults/CrashReseller.test.ts"], { KILLS: String(of(RESELLER_KILLS)) }),
    load: "beside"
  },
  {
    name: "database-faults",
    promise: "Each delivered response is charged exactly once, also if the database fails.",
    required: ({ of }) => `${count(of(DATABASE_FAULTS))} faults: connections ended, backends killed, Postgres stopped`,
    command: ({ of }) => tests(["test/faults/CrashDatabase.test.ts"], { FAULTS: String(of(DATABASE_FAULTS)) }),
    count: { figure: "database faults", required: ({ of }) => of(DATABASE_FAULTS), timeShare: 0.35 },
    load: "beside"
  },
  {
    name: "overspend",
    promise: "A balance is never overspent: no token is delivered beyond it, and nothing is written off.",
    required: () =>
      "three protocols, each with 25 streams at two servers and a balance of 0.05 USD; 25 whole responses with one prompt token for each byte; 200 requests at two nodes with a balance for ten requests",
    command: () => tests(["test/faults/Overspend.test.ts", "test/faults/Nodes.test.ts"]),
    load: "beside"
  },
  {
    name: "disconnect",
    promise: "If a client disconnects, the customer pays exactly for the output that was delivered.",
    required: () => "a disconnect after each frame, in three protocols",
    command: () => tests(["test/e2e/Disconnect.test.ts", "test/e2e/Messages.test.ts", "test/e2e/Responses.test.ts"]),
    load: "beside"
  },
  {
    name: "upstream-faults",
    promise:
      "A broken provider never causes a wrong charge, and every stream ends with the final event of its protocol or with an error.",
    required: () => "at least 40 faults in each of three protocols",
    command: () =>
      tests([
        "test/faults/UpstreamFaults.test.ts",
        "test/faults/MessagesFaults.test.ts",
        "test/faults/ResponsesFaults.test.ts"
      ]),
    load: "beside"
  },
  {
    name: "raw-http",
    promise:
      "Malformed, slow and idle connections are handled as the reference states, and other connections are served.",
    required: ({ of }) => `92 requests over raw sockets, ${count(of(IDLE_CONNECTIONS))} idle connections`,
    command: ({ of }) =>
      tests(["test/adapters-http/server/RawRequests.test.ts", "test/adapters-http/server/RawConnections.test.ts"], {
        IDLE_CONNECTIONS: String(Math.max(50, of(IDLE_CONNECTIONS)))
      }),
    load: "beside"
  },
  {
    name: "hostile-providers",
    promise: "A hostile provider uses a bounded amount of memory and time, and other providers are not affected.",
    required: () => "28 attacks over real sockets, and endless lines on twelve concurrent streams",
    command: () => tests(["test/adapters-http/inference/relay/HostileProviders.test.ts"]),
    load: "beside"
  },
  {
    name: "fuzz",
    promise: "No input causes an exception in a parser, and every parser has the same results as its reference.",
    required: ({ of }) => `${count(of(FUZZ_INPUTS))} inputs without a finding`,
    command: ({ of }) => program("test/fuzz/main.ts", "--inputs", String(of(FUZZ_INPUTS))),
    count: { figure: "inputs", required: ({ of }) => of(FUZZ_INPUTS), timeShare: 0.3 },
    load: "beside"
  },
  {
    name: "simulation",
    promise: "The invariants of the ledger hold for every order of events, delays, losses and crashes.",
    required: ({ of }) => `${count(of(HISTORIES))} simulated histories without a violation`,
    command: ({ of }) => program("test/simulation/main.ts", "--seeds", String(of(HISTORIES))),
    count: { figure: "histories", required: ({ of }) => of(HISTORIES), timeShare: 0.3 },
    load: "beside"
  },
  {
    name: "soak",
    promise:
      "Under constant load, the memory and the number of descriptors of a server do not grow, and its charges are exact.",
    required: ({ soakMinutes }) => `${count(soakMinutes)} minutes of mixed load`,
    command: ({ soakMinutes }) => program("test/proof/Soak.ts", "--minutes", String(soakMinutes)),
    load: "soak"
  }
]
