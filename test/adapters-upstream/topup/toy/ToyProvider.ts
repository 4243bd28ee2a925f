/**
 * Implements a payment provider that exists only in tests: its adapter and its descriptor.
 */
import { createHmac } from "node:crypto"
import * as ExactJson from "@tollgate/adapters-upstream/topup/wire/ExactJson"
import {
  type AccountSettings,
  labelOf,
  productionAddressErrors
} from "@tollgate/adapters-upstream/topup/wire/PaymentAccount"
import { failuresOf } from "@tollgate/adapters-upstream/topup/wire/PaymentFailures"
import * as PaymentHttp from "@tollgate/adapters-upstream/topup/wire/PaymentHttp"
import { describeProvider } from "@tollgate/adapters-upstream/topup/wire/PaymentProviderDescriptor"
import { idrOf } from "@tollgate/adapters-upstream/topup/wire/WireAmounts"
import { Credential, HttpAddress, optional, withDefault } from "@tollgate/application/operations/EnvironmentSchema"
import { BadSignature, type PaymentProvider } from "@tollgate/application/topup/PaymentProviders"
import { Effect, Either, Redacted, Schema, type Scope } from "effect"

interface ToySettings extends AccountSettings {
  readonly apiKey: Redacted.Redacted<string>
}

const NAME = "toy"
export const SIGNATURE_HEADER = "x-toy-signature"

const Invoice = Schema.Struct({ id: Schema.String, ref: Schema.String, total: Schema.String, state: Schema.String })
const Created = Schema.Struct({ ...Invoice.fields, code: Schema.String })
const Notification = Schema.Struct({ ref: Schema.String })

export const signatureOf = (body: string | Uint8Array, apiKey: string): string =>
  createHmac("sha256", apiKey).update(body).digest("hex")

const make = (settings: ToySettings): Effect.Effect<PaymentProvider, never, Scope.Scope> =>
  Effect.gen(function* () {
    const label = labelOf(NAME, settings)
    const failures = failuresOf(label)
    const key = Redacted.value(settings.apiKey)
    const { call } = yield* PaymentHttp.make({
      baseUrl: settings.baseUrl,
      credential: { name: "x-api-key", value: settings.apiKey },
      failures
    })
    const readAs =
      <A, I>(schema: Schema.Schema<A, I>) =>
      ({ body }: { readonly body: unknown }) =>
        Either.mapLeft(Schema.decodeUnknownEither(schema)(body), () =>
          failures.unavailable("bad_response", "the response contains no invoice")
        )

    const open: PaymentProvider["open"] = ({ createdAt, due, orderNumber }) => {
      if (due._tag !== "Rupiah") return Effect.dieMessage("the toy provider takes only rupiah")
      const body = { ref: orderNumber, total: due.totalIdr, callback: settings.webhookUrl }
      return Effect.map(
        call({ method: "POST", path: "/invoices", body, repeatable: true, read: readAs(Created) }),
        ({ code, id }) => ({
          providerPaymentId: id,
          instructions: { _tag: "Qris", qrContent: code, qrImageUrl: undefined },
          expiresAt: new Date(createdAt.getTime() + settings.expiryMinutes * 60_000),
          state: {}
        })
      )
    }

    const refresh: PaymentProvider["refresh"] = ({ due, orderNumber }, { providerPaymentId }) =>
      Effect.map(
        call({ method: "GET", path: `/invoices/${providerPaymentId}`, repeatable: true, read: readAs(Invoice) }),
        ({ ref, state, total }) => {
          const isOurs = ref === orderNumber && due._tag === "Rupiah" && idrOf(total) === due.totalIdr
          const received = undefined
          if (!isOurs) return { _tag: "Suspicious", reason: `its order is ${ref} and its amount is ${total}`, received }
          return state === "settled" ? { _tag: "Paid", paidAt: undefined, received } : { _tag: "Pending", received }
        }
      )

    return {
      label,
      name: NAME,
      simulated: settings.atSimulator,
      method: "qris",
      needsDepositIndex: false,
      probe: Effect.void,
      open,
      refresh,
      cancel: undefined,
      webhook: {
        verify: (headers, body) =>
          ExactJson.parse(Buffer.from(body).toString("utf8")).pipe(
            Either.flatMap(Schema.decodeUnknownEither(Notification)),
            Either.filterOrLeft(
              () => headers[SIGNATURE_HEADER] === signatureOf(body, key),
              () => "wrong signature" as const
            ),
            Either.map(({ ref }) => ({ orderNumber: ref })),
            Effect.mapError(() => new BadSignature({ provider: label }))
          ),
        acknowledgement: { received: true }
      }
    }
  })

export const toy = describeProvider({
  name: NAME,
  method: "qris",
  environment: Schema.Struct({
    TOY_BASE_URL: withDefault(HttpAddress, "https://toy.example", "Base URL of the toy provider, for `qris`"),
    TOY_API_KEY: optional(Credential, "API key of the toy provider; enables `qris`")
  }),
  credentials: ["TOY_API_KEY"],
  productionErrors: (values) => productionAddressErrors("TOY_BASE_URL", values.TOY_BASE_URL),
  settings: (values, terms): ToySettings | undefined =>
    values.TOY_API_KEY === undefined
      ? undefined
      : { ...terms, baseUrl: values.TOY_BASE_URL, apiKey: values.TOY_API_KEY },
  make
})
