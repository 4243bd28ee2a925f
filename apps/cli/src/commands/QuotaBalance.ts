/**
 * Quota as commands show it: in USD with six decimals, which is exact.
 */
import { toUsdPico, type UsdMicro } from "@tollgate/domain/money/UsdMicro"
import { floorToUsd } from "@tollgate/domain/money/UsdPico"

export const quotaText = (amount: UsdMicro): string => `${floorToUsd(toUsdPico(amount))} USD`
