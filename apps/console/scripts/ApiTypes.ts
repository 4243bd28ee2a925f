/**
 * Writes the types of the client, `dist/types/GatewayApi.d.ts`, from the OpenAPI document of the gateway.
 *
 * `npm run check` generates the file. It is not in the repository, so it is never out of date: if the interface changes
 * and the console does not, the type check fails.
 */
import { mkdir, writeFile } from "node:fs/promises"
import { dirname, resolve } from "node:path"
import * as OpenApi from "@effect/platform/OpenApi"
import { GatewayApi } from "@tollgate/adapters-http/server/GatewayApi"
import openapiTypescript, { astToString, type OpenAPI3 } from "openapi-typescript"

const FILE = resolve(import.meta.dirname, "../dist/types/GatewayApi.d.ts")

const document = JSON.parse(JSON.stringify(OpenApi.fromApi(GatewayApi))) as OpenAPI3
await mkdir(dirname(FILE), { recursive: true })
await writeFile(FILE, astToString(await openapiTypescript(document)))
