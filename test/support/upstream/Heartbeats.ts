/**
 * Heartbeats whose data is not a JSON object. The first is the form of older versions of sse-starlette, a Python library
 * of model servers; later versions send a comment.
 */
export const heartbeats = [
  "event: ping\r\ndata: 2024-04-27 01:35:43.686476\r\n\r\n",
  "event: ping\ndata: ping\n\n",
  "event: ping\ndata: null\n\n",
  "event: heartbeat\ndata:\n\n",
  "event: Heartbeat\ndata: 17\n\n",
  "event: keepalive\ndata: .\n\n",
  "event: keep-alive\ndata: []\n\n",
  "data:\n\n",
  "data:  \n\n",
  "data:\ndata:\n\n"
].join("")
