/**
 * The Indonesian texts of the console, with the members of the English texts in `en.ts`.
 */

import type { texts as english } from "./en.ts"
import { accessTexts } from "./id/Access.ts"
import { frameTexts } from "./id/Frame.ts"
import { operatorTexts } from "./id/Operator.ts"
import { resellerTexts } from "./id/Reseller.ts"
import { topUpTexts } from "./id/TopUps.ts"
import { usageTexts } from "./id/Usage.ts"

export const texts: typeof english = {
  ...frameTexts,
  ...accessTexts,
  ...resellerTexts,
  ...topUpTexts,
  ...usageTexts,
  ...operatorTexts
}
