/**
 * A page of the operator while its data is being loaded, or if the data cannot be loaded.
 */
import type { Loaded } from "../../api/Loaded.ts"
import { Loading } from "../../ui/Notices.tsx"
import { Page } from "../../ui/Page.tsx"
import { OperatorProblem } from "./Problems.tsx"

interface LoadingPageProps {
  readonly title: string
  readonly back: { readonly path: string; readonly text: string }
  readonly loaded: Pick<Loaded<unknown>, "problem" | "reload">
}

export const LoadingPage = ({ title, back, loaded }: LoadingPageProps) => (
  <Page title={title} back={back}>
    {loaded.problem === undefined ? (
      <Loading problem={undefined} retry={loaded.reload} />
    ) : (
      <OperatorProblem problem={loaded.problem} retry={loaded.reload} />
    )}
  </Page>
)
