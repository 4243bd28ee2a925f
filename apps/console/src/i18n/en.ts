/**
 * The English texts of the console. The Indonesian texts in `id.ts` have the same members.
 */
import { accessTexts } from "./en/Access.ts"
import { frameTexts } from "./en/Frame.ts"
import { operatorTexts } from "./en/Operator.ts"
import { resellerTexts } from "./en/Reseller.ts"
import { topUpTexts } from "./en/TopUps.ts"
import { usageTexts } from "./en/Usage.ts"

export const texts = { ...frameTexts, ...accessTexts, ...resellerTexts, ...topUpTexts, ...usageTexts, ...operatorTexts }
