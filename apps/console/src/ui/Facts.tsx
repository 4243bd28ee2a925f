/**
 * A list of facts: names with their values. A fact without a value is omitted.
 */
import type { ComponentChildren } from "preact"

export type Fact = readonly [name: string, value: ComponentChildren]

export const Facts = ({ facts }: { readonly facts: ReadonlyArray<Fact> }) => (
  <dl class="summary">
    {facts.map(([name, value]) =>
      value === undefined || value === null ? null : (
        <div key={name} class="contents">
          <dt>{name}</dt>
          <dd dir="auto">{value}</dd>
        </div>
      )
    )}
  </dl>
)
