/**
 * The pages of an operator, which are loaded together after the link of `tollgate console` is opened. The page lists
 * the decisions that wait for an operator. All other tasks of an operator are in the command line.
 */
import type { ComponentType } from "preact"
import type { OperatorPage, PageProps } from "../../routes/Routes.ts"
import { Reviews } from "./Reviews.tsx"

export const pages: { readonly [N in OperatorPage]: ComponentType<PageProps> } = { reviews: Reviews }
