/**
 * Declares the descriptor of a payment provider: its name, payment method and environment variables, and the function
 * that makes the adapter from the variables. Each provider folder exports one descriptor. `PaymentProviderRegistry`
 * lists the descriptors.
 */
import { type Environment, readSettings } from "@tollgate/application/operations/EnvironmentSchema"
import type { PaymentProvider } from "@tollgate/application/topup/PaymentProviders"
import type { PaymentMethod } from "@tollgate/domain/topup/PaymentMethod"
import type * as Effect from "effect/Effect"
import type * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { PaymentTerms } from "./PaymentAccount.ts"

/** Decoded environment variables by name. */
export type Variables = Readonly<Record<string, unknown>>

export interface PaymentProviderDescriptor {
  /** The name of the provider in the webhook path and in the label that orders store, for example `midtrans`. */
  readonly name: string
  readonly method: PaymentMethod
  /** The environment variables of the provider. Each has a description. Those without a default are optional. */
  readonly fields: Schema.Struct.Fields
  /** The names of the variables that must be set together. The provider takes payments only if all are set. */
  readonly credentials: ReadonlyArray<string>
  /** Decodes the variables of the provider, or returns one line per error. */
  readonly read: (environment: Environment) => Either.Either<Variables, ReadonlyArray<string>>
  /** Returns one line per reason why the values are not allowed in production. */
  readonly productionErrors: (values: Variables) => ReadonlyArray<string>
  /** Returns the configured provider; `undefined` if a credential is missing. */
  readonly configure: (values: Variables, terms: PaymentTerms) => ConfiguredProvider | undefined
}

/** A provider with its settings, from which the adapter can be made. */
export interface ConfiguredProvider {
  readonly name: string
  readonly settings: object
  /** One line per error in the settings because of which calls to the provider would fail. */
  readonly errors: ReadonlyArray<string>
  readonly make: Effect.Effect<PaymentProvider, never, Scope.Scope>
}

export interface PaymentProviderDefinition<A extends Variables, I, S extends object> {
  readonly name: string
  readonly method: PaymentMethod
  readonly environment: Schema.Schema<A, I> & { readonly fields: Schema.Struct.Fields }
  readonly credentials: ReadonlyArray<keyof A & string>
  readonly productionErrors: (values: A) => ReadonlyArray<string>
  /** Returns the settings; `undefined` if a credential is missing. */
  readonly settings: (values: A, terms: PaymentTerms) => S | undefined
  readonly settingsErrors?: (settings: S) => ReadonlyArray<string>
  readonly make: (settings: S) => Effect.Effect<PaymentProvider, never, Scope.Scope>
}

/**
 * Makes a descriptor. The result hides the types of variables and settings, so that the descriptors of all providers
 * fit into one list.
 */
export const describeProvider = <A extends Variables, I, S extends object>({
  name,
  method,
  environment,
  credentials,
  productionErrors,
  settings,
  settingsErrors = () => [],
  make
}: PaymentProviderDefinition<A, I, S>): PaymentProviderDescriptor => {
  const valuesIn = Schema.validateSync(environment)
  return {
    name,
    method,
    fields: environment.fields,
    credentials,
    read: readSettings(environment),
    productionErrors: (values) => productionErrors(valuesIn(values)),
    configure: (values, terms) => {
      const configured = settings(valuesIn(values), terms)
      if (configured === undefined) return undefined
      return { name, settings: configured, errors: settingsErrors(configured), make: make(configured) }
    }
  }
}
