/**
 * One payment provider, described in one value: its name, the method it takes, its environment variables, and how to
 * make it from them. Each provider's folder exports one; the registry lists them.
 */
import { type Environment, readSettings } from "@tollgate/application/operations/EnvironmentSchema"
import type { PaymentProvider } from "@tollgate/application/topup/PaymentProviders"
import type { PaymentMethod } from "@tollgate/domain/topup/PaymentMethod"
import type * as Effect from "effect/Effect"
import type * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { PaymentTerms } from "./PaymentAccount.ts"

/** Decoded variables by name; among them those of the provider. */
export type Variables = Readonly<Record<string, unknown>>

export interface PaymentProviderDescriptor {
  /** In the path of its webhooks and in its label: `midtrans`. */
  readonly name: string
  readonly method: PaymentMethod
  /** Its environment variables, each with a description and where possible a default. */
  readonly fields: Schema.Struct.Fields
  /** Names of the variables that must be set together. A provider without them takes no payments. */
  readonly credentials: ReadonlyArray<string>
  /** Its variables, or every error in them, one line each. */
  readonly read: (environment: Environment) => Either.Either<Variables, ReadonlyArray<string>>
  /** Reasons why production refuses these values, one line each. */
  readonly productionErrors: (values: Variables) => ReadonlyArray<string>
  /** Undefined without the credentials. */
  readonly configure: (values: Variables, terms: PaymentTerms) => ConfiguredProvider | undefined
}

/** A provider with its settings, ready to be made. */
export interface ConfiguredProvider {
  readonly name: string
  readonly settings: object
  /** Reasons why its calls would fail, one line each. */
  readonly errors: ReadonlyArray<string>
  readonly make: Effect.Effect<PaymentProvider, never, Scope.Scope>
}

export interface PaymentProviderDefinition<A extends Variables, I, S extends object> {
  readonly name: string
  readonly method: PaymentMethod
  readonly environment: Schema.Schema<A, I> & { readonly fields: Schema.Struct.Fields }
  readonly credentials: ReadonlyArray<keyof A & string>
  readonly productionErrors: (values: A) => ReadonlyArray<string>
  /** Undefined where a credential is missing. */
  readonly settings: (values: A, terms: PaymentTerms) => S | undefined
  readonly settingsErrors?: (settings: S) => ReadonlyArray<string>
  readonly make: (settings: S) => Effect.Effect<PaymentProvider, never, Scope.Scope>
}

/** Hides the types of the variables and settings, so that descriptors of different providers fit in one list. */
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
