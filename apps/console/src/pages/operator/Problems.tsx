/**
 * Shows a problem to an operator. Some codes have one text for operators and another text for resellers.
 */
import type { Problem } from "../../api/Problem.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import { Notice, ProblemNotice } from "../../ui/Notices.tsx"

interface OperatorProblemProps {
  readonly problem: Problem | undefined
  readonly retry?: () => void
}

export const OperatorProblem = ({ problem, retry }: OperatorProblemProps) => {
  const { problems } = useOperatorTexts()
  const known = problem === undefined ? undefined : problems[problem.code as keyof typeof problems]
  return known === undefined ? <ProblemNotice problem={problem} retry={retry} /> : <Notice kind="bad">{known}</Notice>
}
