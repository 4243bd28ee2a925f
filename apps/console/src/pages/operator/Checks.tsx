/**
 * The last audit of the ledger, a new audit, and the checks of the service.
 */
import { useState } from "preact/hooks"
import type { components } from "../../../dist/types/GatewayApi.d.ts"
import { api, bodyOf, slowApi } from "../../api/Client.ts"
import { useAction, useLoaded } from "../../api/Loaded.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import { pathOf } from "../../routes/Routes.ts"
import { Facts } from "../../ui/Facts.tsx"
import { Form, Submit } from "../../ui/Forms.tsx"
import { Empty, Loading, Notice } from "../../ui/Notices.tsx"
import { Card, Page } from "../../ui/Page.tsx"
import { OperatorProblem } from "./Problems.tsx"

type AuditRun = components["schemas"]["AuditRun"]
type ServiceChecks = components["schemas"]["ServiceChecks"]

/** The gateway describes its checks in English, so the descriptions have `lang="en"`. */
const AuditResult = ({ run }: { readonly run: AuditRun }) => {
  const { checks: texts } = useOperatorTexts()
  const format = useFormat()
  const violated = run.checks.filter(({ ok }) => !ok)
  return (
    <>
      <Notice kind={run.ok ? "good" : "bad"} title={run.ok ? texts.fine : texts.violated}>
        {texts.by(run.actor, format.time(run.finished_at))}
      </Notice>
      {violated.length > 0 && (
        <ul class="rows">
          {violated.map((check) => (
            <li class="row" key={check.id}>
              <span class="row-main" lang="en">
                {check.invariant}
              </span>
              <span class="badge bad">{texts.violations(format.count(check.violations))}</span>
            </li>
          ))}
        </ul>
      )}
      <details class="figures">
        <summary>{texts.allChecks}</summary>
        <ul class="rows" lang="en">
          {run.checks.map((check) => (
            <li class="row" key={check.id}>
              {check.invariant}
            </li>
          ))}
        </ul>
      </details>
      <details class="figures">
        <summary>{texts.figures}</summary>
        <div lang="en">
          <Facts facts={Object.entries(run.figures)} />
        </div>
      </details>
    </>
  )
}

const Audit = () => {
  const { checks: texts } = useOperatorTexts()
  const last = useLoaded((signal) => bodyOf(api.GET("/api/operator/audit", { signal })), [])
  const run = useAction(async () => {
    await bodyOf(slowApi.POST("/api/operator/audit"))
    last.reload()
  })
  return (
    <Card title={texts.audit}>
      <div class="stack">
        {last.data !== undefined && <OperatorProblem problem={last.problem} retry={last.reload} />}
        {last.data === undefined ? (
          <Loading problem={last.problem} retry={last.reload} />
        ) : last.data.audit === null ? (
          <Empty title={texts.none} />
        ) : (
          <AuditResult run={last.data.audit} />
        )}
        <Form onSubmit={() => run.run()}>
          <p class="muted">{run.running ? texts.running : texts.auditText}</p>
          <OperatorProblem problem={run.problem} />
          <Submit running={run.running}>{texts.run}</Submit>
        </Form>
      </div>
    </Card>
  )
}

const badges = { ok: "good", warn: "warn", fail: "bad" } as const

const Service = () => {
  const { checks: texts } = useOperatorTexts()
  const [result, setResult] = useState<ServiceChecks>()
  const check = useAction(async () => {
    setResult(undefined)
    setResult(await bodyOf(slowApi.POST("/api/operator/doctor")))
  })
  return (
    <Card title={texts.service}>
      <Form onSubmit={() => check.run()}>
        <p class="muted">{texts.serviceText}</p>
        {result !== undefined && (
          <>
            <Notice kind={result.ok ? "good" : "bad"} title={result.ok ? texts.serviceFine : texts.serviceFails} />
            <ul class="rows">
              {result.checks.map(({ check, status, detail, advice }) => (
                <li class="row" key={`${check} ${detail}`}>
                  <span class="row-main" lang="en">
                    <span dir="auto">{check}</span>
                    <small>
                      <span dir="auto">{detail}</span>
                      {advice !== null && (
                        <>
                          <br />
                          {advice}
                        </>
                      )}
                    </small>
                  </span>
                  <span class={`badge ${badges[status]}`}>{texts.statuses[status]}</span>
                </li>
              ))}
            </ul>
          </>
        )}
        <OperatorProblem problem={check.problem} />
        <Submit running={check.running}>{texts.check}</Submit>
      </Form>
    </Card>
  )
}

export const Checks = () => {
  const { shell } = useTexts()
  const { checks: texts } = useOperatorTexts()
  return (
    <Page title={texts.title} back={{ path: pathOf("operatorService"), text: shell.pages.operatorService }}>
      <Audit />
      <Service />
    </Page>
  )
}
