/**
 * Lists the fuzz targets. Each one checks the code of the gateway, not a copy with a planted fault.
 */

import { readSource } from "@tollgate/adapters-http/images/SourceHeader"
import { faultOf } from "@tollgate/adapters-upstream/topup/wire/Qris"
import { parseCatalogFile } from "@tollgate/domain/catalog/CatalogFile"
import type { FuzzTarget } from "./Target.ts"
import { catalogTarget } from "./targets/Catalogs.ts"
import { credentialsSubject, credentialsTarget } from "./targets/Credentials.ts"
import { depositAddressSubject, depositAddressTarget } from "./targets/DepositAddresses.ts"
import { editFormTarget, readForm } from "./targets/EditForms.ts"
import { decodeEvents, eventStreamTarget } from "./targets/EventStreams.ts"
import { exchange, httpTarget } from "./targets/HttpRequests.ts"
import { imageHeaderTarget } from "./targets/ImageHeaders.ts"
import { jsonBodiesSubject, jsonBodiesTarget } from "./targets/JsonBodies.ts"
import { amountsSubject, amountsTarget, qrisTarget } from "./targets/Payments.ts"
import { relayTarget } from "./targets/Relay.ts"
import { streamSubjects, streamTarget } from "./targets/StreamTranslators.ts"
import { wholeResponsesSubject, wholeResponsesTarget } from "./targets/WholeResponses.ts"

export const targets: ReadonlyArray<FuzzTarget> = [
  jsonBodiesTarget(jsonBodiesSubject),
  eventStreamTarget(decodeEvents),
  streamTarget("chat", streamSubjects.chat),
  streamTarget("messages", streamSubjects.messages),
  streamTarget("responses", streamSubjects.responses),
  wholeResponsesTarget(wholeResponsesSubject),
  editFormTarget(readForm),
  imageHeaderTarget(readSource),
  qrisTarget(faultOf),
  amountsTarget(amountsSubject),
  credentialsTarget(credentialsSubject),
  depositAddressTarget(depositAddressSubject),
  catalogTarget(parseCatalogFile),
  relayTarget((received) => received),
  httpTarget(exchange)
]
