/**
 * A button that downloads a CSV file of the gateway.
 */
import { download } from "../api/Client.ts"
import { useAction } from "../api/Loaded.ts"
import { useTexts } from "../i18n/Language.ts"
import { ProblemNotice } from "./Notices.tsx"

interface DownloadProps {
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  /** The text of the button; by default the name of the format. */
  readonly text?: string
}

export const Download = ({ path, query = {}, text }: DownloadProps) => {
  const { common } = useTexts()
  const action = useAction(() => download(path, query))
  return (
    <div class="download">
      <button
        type="button"
        class="button small"
        aria-disabled={action.running}
        aria-label={text === undefined ? common.downloadCsv : undefined}
        onClick={() => action.run()}
      >
        {text ?? common.csv}
      </button>
      <ProblemNotice problem={action.problem} />
    </div>
  )
}
