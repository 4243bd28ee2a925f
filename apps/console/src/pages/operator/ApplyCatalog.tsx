/**
 * Applies a catalog file in two steps. First the page shows what the file changes. Then the operator confirms the
 * change, and the gateway applies the file. A request that applies a file names no version of the stored catalog. The
 * page therefore reads the changes again right before this request, and sends it only if they are still the same.
 */
import { useId, useState } from "preact/hooks"
import { api, bodyOf } from "../../api/Client.ts"
import { useAction } from "../../api/Loaded.ts"
import type { CatalogChange } from "../../api/Operator.ts"
import { Problem } from "../../api/Problem.ts"
import { useFormat } from "../../format/Format.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import { Facts } from "../../ui/Facts.tsx"
import { Form, Submit } from "../../ui/Forms.tsx"
import { Notice } from "../../ui/Notices.tsx"
import { Card } from "../../ui/Page.tsx"
import { useDecision } from "./Decision.tsx"
import { OperatorProblem } from "./Problems.tsx"

const MAX_BYTES = 4 * 1024 * 1024

const CatalogProblem = ({ problem }: { readonly problem: Problem | undefined }) => {
  const { catalog: texts } = useOperatorTexts()
  if (problem?.code !== "catalog_file_invalid") return <OperatorProblem problem={problem} />
  return (
    <Notice kind="bad" title={texts.invalid}>
      <ul lang="en">
        {problem.details.map(({ message }) => (
          <li key={message} dir="auto">
            {message}
          </li>
        ))}
      </ul>
    </Notice>
  )
}

const Changes = ({ change }: { readonly change: CatalogChange }) => {
  const { catalog: texts } = useOperatorTexts()
  const names = (list: ReadonlyArray<string>) => (list.length === 0 ? undefined : list.join(", "))
  return (
    <>
      <Facts
        facts={[
          [texts.added, names(change.added)],
          [texts.changed, names(change.changed)],
          [texts.retired, names(change.retired)]
        ]}
      />
      {change.members.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be focusable
        <section class="scroll" tabIndex={0} aria-label={texts.changes}>
          <table class="table">
            <thead>
              <tr>
                <th scope="col">{texts.member}</th>
                <th scope="col">{texts.before}</th>
                <th scope="col">{texts.after}</th>
              </tr>
            </thead>
            <tbody>
              {change.members.map(({ name, member, before, after }) => (
                <tr key={`${name} ${member}`}>
                  <th scope="row">
                    <span dir="auto">{name}</span>
                    <br />
                    <code>{member}</code>
                  </th>
                  <td>{before}</td>
                  <td>{after}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </>
  )
}

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

interface Previewed {
  /** The text of the catalog file. */
  readonly text: string
  readonly change: CatalogChange
}

/**
 * Returns a request body with the unchanged text of a catalog file, which is valid JSON. The gateway can then find a
 * member that occurs twice. The body begins in the first line of the file, so that the lines in an error are the lines
 * of the file.
 */
const requestWith = (text: string, reason?: string) => ({
  body: { catalog: {} },
  bodySerializer: () => `{"catalog":${text}${reason === undefined ? "" : `,"reason":${JSON.stringify(reason)}`}}`
})

const readChange = (text: string): Promise<CatalogChange> =>
  bodyOf(api.POST("/api/operator/catalog/preview", requestWith(text)))

/** Refuses to apply a file, because the stored catalog has changed after its changes were shown. */
class ChangedMeanwhile extends Problem {
  readonly change: CatalogChange

  constructor(change: CatalogChange) {
    super(422, "catalog_changed", "")
    this.change = change
  }
}

/** `onChanged` is called when the stored catalog differs from the one that was read before. */
export const ApplyCatalog = ({ onChanged }: { readonly onChanged: () => void }) => {
  const { catalog: texts } = useOperatorTexts()
  const format = useFormat()
  const id = useId()
  const [file, setFile] = useState<File>()
  const [issue, setIssue] = useState<string>()
  const [previewed, setPreviewed] = useState<Previewed>()
  const [isOutdated, setOutdated] = useState(false)
  const [version, setVersion] = useState<number>()
  const { ask, dialog } = useDecision(() => {
    setPreviewed(undefined)
    onChanged()
  })
  const forgetResults = () => {
    setPreviewed(undefined)
    setOutdated(false)
    setVersion(undefined)
    setIssue(undefined)
  }
  const choose = (chosen: File | undefined) => {
    setFile(chosen)
    forgetResults()
    preview.forget()
  }
  const preview = useAction(async (_: undefined, isCurrent) => {
    forgetResults()
    if (file === undefined) return
    if (file.size > MAX_BYTES) return setIssue(texts.tooLarge)
    const text = await file.text().catch(() => undefined)
    if (!isCurrent()) return
    if (text === undefined) return setIssue(texts.unreadable)
    if (!isJson(text)) return setIssue(texts.notJson)
    const change = await readChange(text)
    // The operator may have chosen another file meanwhile.
    if (isCurrent()) setPreviewed({ text, change })
  })
  const apply = ({ text, change }: Previewed) => {
    setOutdated(false)
    ask({
      title: texts.applyQuestion,
      text: (
        <>
          <p>{texts.applyText}</p>
          <Facts
            facts={[
              [texts.added, format.count(change.added.length)],
              [texts.changed, format.count(change.changed.length)],
              [texts.retired, format.count(change.retired.length)]
            ]}
          />
        </>
      ),
      confirm: texts.apply,
      reason: "optional",
      send: async (reason) => {
        const now = await readChange(text)
        if (JSON.stringify(now) !== JSON.stringify(change)) throw new ChangedMeanwhile(now)
        setVersion((await bodyOf(api.POST("/api/operator/catalog/apply", requestWith(text, reason)))).version)
      },
      showsProblem: (problem) => {
        if (!(problem instanceof ChangedMeanwhile)) return false
        setPreviewed({ text, change: problem.change })
        setOutdated(true)
        onChanged()
        return true
      }
    })
  }
  const isUnchanged =
    previewed !== undefined &&
    previewed.change.added.length + previewed.change.changed.length + previewed.change.retired.length === 0
  return (
    <Card title={texts.upload}>
      <Form onSubmit={() => preview.run(undefined)}>
        <p class="muted">{texts.uploadText}</p>
        <div class="field">
          <label for={id}>{texts.file}</label>
          <input
            id={id}
            class="input"
            type="file"
            accept="application/json,.json"
            required
            aria-invalid={issue !== undefined}
            aria-describedby={issue === undefined ? undefined : `${id}-error`}
            onClick={(event) => {
              // With an empty value, the browser also reports that the same file was chosen again, for example after
              // its errors were corrected.
              event.currentTarget.value = ""
              choose(undefined)
            }}
            onChange={(event) => choose(event.currentTarget.files?.[0])}
          />
          {issue !== undefined && (
            <p class="error" id={`${id}-error`}>
              {issue}
            </p>
          )}
        </div>
        <CatalogProblem problem={preview.problem} />
        {version !== undefined && <Notice kind="good">{texts.applied(format.count(version))}</Notice>}
        {isOutdated && <Notice kind="warn">{texts.changedMeanwhile}</Notice>}
        {isUnchanged && <Notice kind="info">{texts.unchanged}</Notice>}
        {previewed !== undefined && !isUnchanged && (
          <>
            <h3>{texts.changes}</h3>
            <Changes change={previewed.change} />
          </>
        )}
        <p class="actions">
          <Submit running={preview.running}>{texts.preview}</Submit>
          {previewed !== undefined && !isUnchanged && (
            <button type="button" class="button danger" onClick={() => apply(previewed)}>
              {texts.apply}
            </button>
          )}
        </p>
      </Form>
      {dialog}
    </Card>
  )
}
