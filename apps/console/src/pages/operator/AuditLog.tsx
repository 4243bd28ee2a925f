/**
 * The audit log, newest first.
 */
import { api, bodyOf } from "../../api/Client.ts"
import { pageQuery } from "../../api/Operator.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import { pathOf } from "../../routes/Routes.ts"
import { Facts } from "../../ui/Facts.tsx"
import { Card, Page } from "../../ui/Page.tsx"
import { usePages } from "../../ui/Pages.tsx"
import { RowList } from "../../ui/RowList.tsx"

const shown = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value))

export const AuditLog = () => {
  const { shell } = useTexts()
  const { auditLog: texts } = useOperatorTexts()
  const format = useFormat()
  const entries = usePages(
    (cursor) => bodyOf(api.GET("/api/operator/audit-log", { params: { query: pageQuery({}, cursor) } })),
    []
  )
  return (
    <Page
      title={texts.title}
      intro={texts.intro}
      back={{ path: pathOf("operatorService"), text: shell.pages.operatorService }}
    >
      <Card title={texts.list}>
        <RowList
          pages={entries}
          none={texts.none}
          row={(entry) => (
            <li key={entry.sequence}>
              <div class="row">
                <span class="row-main">
                  <code>{entry.action}</code>
                  <span dir="auto">{entry.reason}</span>
                  <small dir="auto">{texts.by(entry.actor, format.time(entry.at))}</small>
                </span>
              </div>
              <details class="figures">
                <summary>
                  {texts.more}
                  <span class="unseen"> {entry.action}</span>
                </summary>
                <Facts
                  facts={[
                    [texts.subject, entry.subject],
                    ...Object.entries(entry.detail).map(([name, value]) => [name, shown(value)] as const)
                  ]}
                />
              </details>
            </li>
          )}
        />
      </Card>
    </Page>
  )
}
