/**
 * The part of the database driver that a dedicated connection uses.
 *
 * The simulation of the ledger (`npm run simulate`) replaces the driver by a model of the database. The queues, the
 * cache and the dedicated connections run unchanged in the simulation.
 */
import { Socket } from "node:net"
import * as Context from "effect/Context"
import * as Pg from "pg"

export type Response = Pg.QueryArrayResult<Array<unknown>>

/** One connection of the driver. Statements are sent immediately, and their responses arrive in order. */
export interface DriverClient {
  readonly connect: () => Promise<unknown>
  /** Fails with `Pg.DatabaseError` if Postgres reports an error, and with another error if the connection is lost. */
  readonly query: (query: {
    readonly name?: string
    readonly text: string
    readonly values?: Array<unknown>
    readonly rowMode: "array"
  }) => Promise<Response>
  readonly on: (event: "error" | "end", listener: () => void) => unknown
  /** Closes the socket immediately. All statements without a response fail. */
  readonly destroy: () => void
}

export interface Driver {
  /** Creates a client, which is not connected yet. */
  readonly open: (settings: Pg.ClientConfig) => DriverClient
}

export const pgDriver: Driver = {
  open: (settings) => {
    const socket = new Socket()
    const client = new Pg.Client({ ...settings, stream: () => socket })
    return {
      connect: () => client.connect(),
      // Without a callback, the driver assigns one to a property of the query (docs/adr/0016-short-lived-requests.md).
      query: (query) =>
        new Promise((resolve, reject) => {
          client.query<Array<unknown>>(query, (error, response) => (error === null ? resolve(response) : reject(error)))
        }),
      on: (event, listener) => client.on(event, listener),
      destroy: () => socket.destroy()
    }
  }
}

/** The driver of the ledger's connections. The default is the real driver. The simulation replaces it. */
export class LedgerDriver extends Context.Reference<LedgerDriver>()("@tollgate/adapters-postgres/LedgerDriver", {
  defaultValue: () => pgDriver
}) {}
