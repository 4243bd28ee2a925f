/**
 * Records the rounds of the background tasks of this process, for the metrics.
 */
import * as Context from "effect/Context"

export interface TaskRun {
  readonly task: string
  readonly intervalMillis: number
  succeeded: number
  failed: number
  /** The time of the last success in milliseconds since 1970; the start of the task before its first success. */
  lastSuccessMillis: number
}

export class TaskRunCounters {
  readonly #runs = new Map<string, TaskRun>()

  /** Returns the record of a task. If the task has no record, creates a record that begins now. */
  of(task: string, intervalMillis: number, nowMillis: number): TaskRun {
    const known = this.#runs.get(task)
    if (known !== undefined) return known
    const run: TaskRun = { task, intervalMillis, succeeded: 0, failed: 0, lastSuccessMillis: nowMillis }
    this.#runs.set(task, run)
    return run
  }

  get all(): ReadonlyArray<TaskRun> {
    return [...this.#runs.values()]
  }
}

/** The records of this process. A `Context.Reference` has a default value, so no layer has to provide it. */
export class TaskRuns extends Context.Reference<TaskRuns>()("@tollgate/application/TaskRuns", {
  defaultValue: () => new TaskRunCounters()
}) {}
