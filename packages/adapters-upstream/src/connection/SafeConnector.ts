/**
 * Opens the connections of undici's pools and clients, and prevents an exception of undici that would stop the process.
 *
 * If a response ends with its connection, and the connection is closed or reset while the response is paused, then
 * undici 7 throws an `AssertionError` in the event handler of the socket
 * (https://github.com/nodejs/undici/issues/5360). undici 8 does not, but it needs a later version of Node.js than this
 * project.
 */
import type { Socket } from "node:net"
import { buildConnector } from "undici"

/** The members of undici's parser that are used here. undici stores the parser of a connection in its socket. */
interface Parser {
  paused: boolean
  readonly resume: () => void
  /** The parser in WebAssembly, whose functions take the pointer `ptr`. */
  readonly llhttp: { readonly llhttp_resume: (ptr: unknown) => void }
  readonly ptr: unknown
}

const parserOf = (socket: Socket): Parser | undefined => {
  const key = Object.getOwnPropertySymbols(socket).find(({ description }) => description === "parser")
  const parser: unknown = key && Reflect.get(socket, key)
  return parser instanceof Object && "paused" in parser ? (parser as Parser) : undefined
}

/** Returns a function for the option `connect` of a pool or a client. */
export const safeConnector = (options: buildConnector.BuildOptions): buildConnector.connector => {
  const connect = buildConnector(options)
  return (target, callback) =>
    connect(target, (...result) => {
      // undici adds its own listeners after the callback, so the listeners that are added here are called first.
      if (result[0] === null) protect(result[1])
      callback(...result)
    })
}

const protect = (socket: Socket): void => {
  const unpause = () => {
    const parser = parserOf(socket)
    if (parser?.paused) parser.paused = false
  }
  socket.on("end", () => {
    // The parser has read all bytes of the connection, so this call only completes a response of known length.
    const parser = parserOf(socket)
    parser?.resume()
    // A response that ends with its connection is still paused. undici completes it after this event.
    if (parser?.paused && parser.ptr !== null) parser.llhttp.llhttp_resume(parser.ptr)
    unpause()
  })
  socket.on("error", unpause)
  socket.on("close", unpause)
}
