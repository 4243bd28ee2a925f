/**
 * Whether a supplier's error says that it declined the prompt or the source image: a code says so, never words.
 */
import { ContentPolicyViolation } from "@tollgate/domain/images/ImageErrors"
import { type ProviderNames, redactedText } from "../wire/Redaction.ts"
import type { ProviderError } from "../wire/UpstreamRefusal.ts"

const POLICY =
  /^(?:content_?policy(?:_?violation)?|content_?filter(?:ed)?|content_?moderation|moderation(?:_?blocked)?|image_?generation_?user_?error|(?:image_?|prompt_?)?safety(?:_\w+)?|blocked_?by_?safety\w*|prompt_?blocked|responsible_?ai_?policy_?violation|sensitive_?content(?:_?detected)?|nsfw\w*)$/i

/** Statuses under which suppliers decline. */
const STATUSES: ReadonlySet<number> = new Set([200, 400, 403, 422])

const DECLINED = "The prompt or the image was declined by the model's content policy. Change it and try again."

export const declined = (
  status: number,
  error: ProviderError,
  names: ProviderNames
): ContentPolicyViolation | undefined =>
  STATUSES.has(status) && error.codes.some((code) => POLICY.test(code))
    ? new ContentPolicyViolation({ message: redactedText(error.message, names) ?? DECLINED })
    : undefined
