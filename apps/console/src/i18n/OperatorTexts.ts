/**
 * Returns the texts of the pages of an operator's session. They are loaded with these pages, in both languages, so that
 * resellers and customers do not load them.
 */
import { operatorAccountTexts as accountsInEnglish } from "./en/OperatorAccounts.ts"
import { operatorServiceTexts as serviceInEnglish } from "./en/OperatorService.ts"
import { operatorAccountTexts as accountsInIndonesian } from "./id/OperatorAccounts.ts"
import { operatorServiceTexts as serviceInIndonesian } from "./id/OperatorService.ts"
import { type Language, useLanguage } from "./Language.ts"

const english = { ...accountsInEnglish, ...serviceInEnglish }

export type OperatorTexts = typeof english

export const operatorTables: { readonly [L in Language]: OperatorTexts } = {
  en: english,
  id: { ...accountsInIndonesian, ...serviceInIndonesian }
}

export const useOperatorTexts = (): OperatorTexts => operatorTables[useLanguage()]
