/**
 * A reseller as it is shown to itself.
 */
import { type Reseller, ResellerStatus } from "@tollgate/domain/reseller/Reseller"
import * as Schema from "effect/Schema"
import { text, uuid } from "../openapi/Fields.ts"

export const exampleAccount = {
  id: "019a9f0e-1c52-7d1a-9a41-6f1f0d7b2c11",
  email: "owner@tokotoken.example",
  name: "Toko Token",
  status: "active" as const
}

export const ResellerAccount = Schema.Struct({
  id: uuid("The reseller's id.", exampleAccount.id),
  email: text("The email it logs in with.", exampleAccount.email),
  name: text("The name it shows.", exampleAccount.name),
  status: ResellerStatus.annotations({
    description: "`pending` until it is reviewed; only an `active` reseller has tokens."
  })
}).annotations({ identifier: "Reseller", examples: [exampleAccount] })

export const toAccount = ({ id, email, name, status }: Reseller): typeof ResellerAccount.Type => ({
  id,
  email,
  name,
  status
})
