/**
 * Who moved money or rights by hand, and why. Every such command leaves an entry in the audit log.
 */
export interface Operator {
  /** The person at the command line, as the operating system names them. */
  readonly actor: string
  readonly reason: string
}
