/**
 * Writes the types of the client, `dist/types/GatewayApi.d.ts`, from the OpenAPI document of the gateway.
 *
 * The file is not in the repository. `npm run check` generates it before the type check, so the type check fails if the
 * console does not fit the present interface.
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
