/**
 * Describes the members that a scan (`JsonScan.ts`) finds in the bodies of one protocol.
 */
import { MAX_HOSTED_TOOLS } from "@tollgate/domain/inference/HostedTools"
import type { MediaNames } from "./BodySize.ts"
import { MemberNames } from "./MemberNames.ts"

/** The members to find in the bodies of one protocol. */
export interface ScanPlan<Name extends string> {
  readonly members: { readonly [N in Name]: MemberPlan }
  readonly media: MediaNames
  /** True if a name that differs only in case counts as another member. The caller then checks such names. */
  readonly caseSensitive?: true
  /**
   * The maximum number of JSON values in a body; unlimited if undefined. It is checked when a slice has ended and
   * another follows, so a body of one slice is never refused.
   */
  readonly maxValues?: number
}

/**
 * The maximum number of different names that a scan collects in one array. The catalog allows fewer, so a body with
 * this number of names always has a name that is not allowed.
 */
export const MAX_TYPE_NAMES = MAX_HOSTED_TOOLS + 1

/** The maximum number of JSON values in a body of the chat, messages or responses protocol. No model can read more. */
export const MAX_PROMPT_VALUES = 1_000_000

export interface MemberPlan {
  /** The members to find in the value if the value is an object. */
  readonly inside?: { readonly [name: string]: MemberPlan }
  /**
   * If the value is an array: the name of a member that every element must have. The value of this member (the last
   * value if the member is repeated) must be a string.
   */
  readonly each?: string
  /** True if the elements of an array are counted. They are always counted if `each` is set. */
  readonly countsElements?: boolean
  /**
   * If the value is an array: returns the name that the scan adds to `ScannedMember.typeNames` for the `type` of an
   * element. Returns undefined if the scan adds no name.
   */
  readonly nameOfType?: (type: string) => string | undefined
}

/** {@link MemberPlan} with the names converted to bytes. */
export interface Wanted {
  readonly names: MemberNames
  readonly members: ReadonlyArray<WantedMember>
}

export interface WantedMember {
  readonly name: string
  readonly inside: Wanted | undefined
  readonly each: MemberNames | undefined
  readonly countsElements: boolean
  readonly nameOfType: MemberPlan["nameOfType"]
}

export const wantedOf = (members: { readonly [name: string]: MemberPlan }): Wanted => ({
  names: new MemberNames(Object.keys(members)),
  members: Object.entries(members).map(([name, { inside, each, countsElements, nameOfType }]) => ({
    name,
    inside: inside && wantedOf(inside),
    each: each === undefined ? undefined : new MemberNames([each]),
    countsElements: countsElements === true || each !== undefined,
    nameOfType
  }))
})
