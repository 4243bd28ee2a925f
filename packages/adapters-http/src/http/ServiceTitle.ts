/**
 * The service name, which is shown on pages and in the OpenAPI document.
 */
import * as Context from "effect/Context"

export class ServiceTitle extends Context.Reference<ServiceTitle>()("@tollgate/adapters-http/ServiceTitle", {
  defaultValue: () => "tollgate"
}) {}
