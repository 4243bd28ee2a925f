/**
 * Starts nginx as a plain proxy, if nginx is installed. Its figures show the cost of forwarding bytes without
 * JavaScript.
 */
import { spawn, spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { MEASURED_CPU, pinned, stop } from "./BenchProcess.ts"
import { family } from "./ProcessFigures.ts"
import { eventually, freePort, type Target } from "./Target.ts"

export const startNginx = async (upstreamPort: number, directory: string): Promise<Target | undefined> => {
  if (spawnSync("nginx", ["-v"]).status !== 0) return undefined
  const port = await freePort()
  const file = join(directory, "nginx.conf")
  writeFileSync(file, configuration(port, upstreamPort, directory))
  const [command, args] = pinned(MEASURED_CPU, "nginx", [
    "-c",
    file,
    "-p",
    directory,
    "-e",
    join(directory, "nginx.log")
  ])
  const child = spawn(command, args, { stdio: "ignore" })
  await eventually("nginx", 5_000, async () => {
    await fetch(`http://127.0.0.1:${port}/ready`)
    return true
  })
  const pid = child.pid ?? 0
  return { name: "nginx", port, keys: ["none"], pids: family(pid), stop: () => stop(child) }
}

const configuration = (port: number, upstreamPort: number, directory: string): string => `
worker_processes 1;
daemon off;
pid ${directory}/nginx.pid;
error_log ${directory}/nginx.log crit;
events { worker_connections 16384; }
http {
  access_log off;
  keepalive_requests 1000000000;
  client_body_buffer_size 64k;
  client_body_temp_path ${directory}/body;
  proxy_temp_path ${directory}/proxy;
  fastcgi_temp_path ${directory}/fastcgi;
  uwsgi_temp_path ${directory}/uwsgi;
  scgi_temp_path ${directory}/scgi;
  upstream mock { server 127.0.0.1:${upstreamPort}; keepalive 4096; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location = /ready { return 204; }
    location / {
      proxy_pass http://mock;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 600s;
    }
  }
}
`
