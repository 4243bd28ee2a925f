/**
 * Runs a real Postgres for development and tests. Each process that needs this Postgres calls {@link start}. If a
 * Postgres with a watchdog already runs in the directory, the process joins it.
 *
 * By default Postgres listens only on a unix socket and writes durably. It stops when no process uses it any more, even
 * if the last process was killed. If a Postgres is still shutting down in the directory, `start` waits until that
 * Postgres has exited, so a restart right after a crash works.
 */
import { randomUUID } from "node:crypto"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import { ensureCluster } from "./Cluster.ts"
import { EmbeddedPostgresFailed } from "./EmbeddedPostgresFailed.ts"
import * as Lifeline from "./Lifeline.ts"
import { findBinaries } from "./PostgresBinaries.ts"
import { openHome, type PostgresHome } from "./PostgresHome.ts"
import { ClusterInUse, LAUNCH_SETTING, launchOf, stopPredecessor } from "./Postmaster.ts"
import { ownDirectory, type UnprivilegedUser, unprivilegedUser } from "./UnprivilegedUser.ts"
import { watched } from "./Watchdog.ts"

export interface EmbeddedPostgresOptions {
  /**
   * The directory of the cluster, its log and its lifeline (PostgresHome.ts). If it is missing, it is created with
   * access only for the user that Postgres runs as. If this process runs as root, that user may get access to the
   * parent directory, or another directory may be used.
   */
  readonly directory: string
  /** Default: true. If false, writes are faster, but a crash can lose them. Tests use false. */
  readonly durable?: boolean
  /** Postgres settings, as in postgresql.conf. They override the other settings of this file, except the launch id. */
  readonly parameters?: Readonly<Record<string, string>>
}

export interface RunningPostgres {
  readonly socketDir: string
  /** True if this Postgres was already running or starting. */
  readonly joined: boolean
  /** Fails when Postgres exits although the scope has not ended; never completes otherwise. */
  readonly lost: Effect.Effect<never, EmbeddedPostgresFailed>
}

/** Starts Postgres, or joins a Postgres that already runs in the directory, and uses it until the scope ends. */
export const start = (
  options: EmbeddedPostgresOptions
): Effect.Effect<RunningPostgres, EmbeddedPostgresFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const user = yield* unprivilegedUser
    const home = yield* openHome(options.directory, user)
    return yield* inOwnScope(joinOrLaunch(home, user, options)).pipe(
      Effect.retry({ while: (error) => error._tag === "ClusterInUse", schedule: Schedule.spaced("50 millis") }),
      Effect.catchTag("ClusterInUse", Effect.die),
      Effect.timeoutFail({
        duration: "2 minutes",
        onTimeout: () =>
          new EmbeddedPostgresFailed({ message: `Postgres in ${home.directory} did not become ready within 2 minutes` })
      })
    )
  })

/**
 * Runs an attempt in a scope inside the caller's scope. A failed attempt releases its resources immediately; a
 * successful attempt keeps them until the caller's scope ends.
 */
const inOwnScope = <A, E, R>(attempt: Effect.Effect<A, E, R | Scope.Scope>) =>
  Effect.flatMap(Effect.scope, (outer) =>
    Effect.flatMap(Scope.fork(outer, ExecutionStrategy.sequential), (scope) =>
      Scope.extend(attempt, scope).pipe(Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause))))
    )
  )

const joinOrLaunch = (
  home: PostgresHome,
  user: UnprivilegedUser | undefined,
  options: EmbeddedPostgresOptions
): Effect.Effect<RunningPostgres, ClusterInUse | EmbeddedPostgresFailed, Scope.Scope> =>
  Effect.gen(function* () {
    if (Option.isSome(yield* Lifeline.attach(home.lifeline))) return yield* join(home)
    yield* stopPredecessor(home)
    return yield* launch(home, user, options)
  })

const READY_POLL = Schedule.spaced("20 millis")

const join = (home: PostgresHome): Effect.Effect<RunningPostgres, ClusterInUse> =>
  Effect.gen(function* () {
    yield* Effect.repeat(launchOf(home.socketDir), {
      schedule: READY_POLL,
      until: (launch) => Option.isSome(launch) || !Lifeline.isWatched(home.lifeline)
    })
    // Postgres may have begun to stop just before this process attached to the lifeline.
    if (!Lifeline.isWatched(home.lifeline)) return yield* new ClusterInUse()
    const ended = Effect.repeat(
      Effect.sync(() => Lifeline.isWatched(home.lifeline)),
      { schedule: Schedule.spaced("1 second"), while: (watched) => watched }
    )
    return {
      socketDir: home.socketDir,
      joined: true,
      lost: Effect.zipRight(ended, lost(`its log is ${home.logFile}`))
    }
  })

/**
 * Matches log lines of a start that failed because another Postgres still uses the directory or the socket, or because
 * another process has just removed the socket directory.
 */
const HELD_BY_ANOTHER = /lock file .* already exists|still in use|create lock file .* No such file/

const launch = (home: PostgresHome, user: UnprivilegedUser | undefined, options: EmbeddedPostgresOptions) =>
  Effect.gen(function* () {
    const { durable = true, parameters = {} } = options
    const launchId = randomUUID()
    const { initdb, postgres } = yield* findBinaries(user)
    yield* ensureCluster(home, launchId, initdb, user, durable)
    yield* ownDirectory(home.socketDir, user)
    const settings = {
      ...fixedSettings(home),
      ...(durable ? {} : volatileSettings),
      ...parameters,
      [LAUNCH_SETTING]: launchId
    }
    const command = [postgres, "-D", home.dataDir]
    for (const [name, value] of Object.entries(settings)) command.push("-c", `${name}=${value}`)

    const running = yield* watched(home, launchId, command, user)
    // If another process started its Postgres first, the socket belongs to that Postgres, and the launch ids differ.
    const ready = Effect.repeat(launchOf(home.socketDir), {
      schedule: READY_POLL,
      until: (found) => Option.contains(found, launchId)
    })
    const exited = Effect.flatMap(running.exited, () => running.logTail)
    const refusal = yield* Effect.raceFirst(Effect.as(ready, undefined), exited)
    if (refusal !== undefined) {
      if (HELD_BY_ANOTHER.test(refusal)) return yield* new ClusterInUse()
      return yield* new EmbeddedPostgresFailed({ message: `Postgres does not start:\n${refusal}` })
    }
    yield* running.announce
    return { socketDir: home.socketDir, joined: false, lost: Effect.flatMap(exited, lost) }
  })

const lost = (why: string) =>
  Effect.fail(new EmbeddedPostgresFailed({ message: `Postgres exited while it was needed:\n${why}` }))

const fixedSettings = ({ socketDir }: PostgresHome) => ({
  listen_addresses: "",
  unix_socket_directories: socketDir,
  timezone: "UTC",
  log_timezone: "UTC",
  max_connections: "200",
  log_min_messages: "log",
  log_checkpoints: "off",
  log_autovacuum_min_duration: "-1"
})

const volatileSettings = {
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  wal_level: "minimal",
  max_wal_senders: "0"
}
