/**
 * Writes the types of the client, `dist/types/GatewayApi.d.ts`, from the OpenAPI document of the gateway.
 *
 * The file is made by `npm run check` and is not in the repository, so it is never out of date: a change of the
 * interface that the console does not follow is an error of its type check.
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
