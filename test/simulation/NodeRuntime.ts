/**
 * The Effect runtimes of the simulation. They differ from the default runtime in two ways that save processor time:
 * they record no metrics of fibers, and the limit of operations before a fiber yields is a constant.
 */
import { type Context, FiberRef, HashSet, type Logger, Runtime, RuntimeFlags, Scheduler } from "effect"

const MAX_OPERATIONS = 2_048

/** The default scheduler reads the same number from the fiber at each operation. */
class FixedScheduler extends Scheduler.MixedScheduler {
  override shouldYield({ currentOpCount }: Parameters<Scheduler.Scheduler["shouldYield"]>[0]): number | false {
    return currentOpCount > MAX_OPERATIONS ? 0 : false
  }
}

const withoutMetrics = Runtime.defaultRuntime.pipe(
  Runtime.disableRuntimeFlag(RuntimeFlags.RuntimeMetrics),
  Runtime.setFiberRef(FiberRef.currentScheduler, new FixedScheduler(MAX_OPERATIONS))
)

export const nodeRuntime = <R>(ports: Context.Context<R>, logger: Logger.Logger<unknown, void>): Runtime.Runtime<R> =>
  withoutMetrics.pipe(
    Runtime.updateContext(() => ports),
    Runtime.setFiberRef(FiberRef.currentLoggers, HashSet.make(logger))
  )

export const silentRuntime: Runtime.Runtime<never> = withoutMetrics.pipe(
  Runtime.setFiberRef(FiberRef.currentLoggers, HashSet.empty())
)
