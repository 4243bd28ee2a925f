/**
 * The customers of the reseller, with a search and a form that adds one.
 */
import { useState } from "preact/hooks"
import { api, bodyOf } from "../../api/Client.ts"
import { useAction, useLoaded } from "../../api/Loaded.ts"
import { readCustomers } from "../../api/Reseller.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { customerPath, go } from "../../routes/Routes.ts"
import { Field, Form, Submit } from "../../ui/Forms.tsx"
import { Empty, Loading, Notice, ProblemNotice } from "../../ui/Notices.tsx"
import { Card, Page } from "../../ui/Page.tsx"

/** The maximum number of rows that are shown. The search finds the other customers. */
const MAX_SHOWN = 200

const AddCustomer = () => {
  const texts = useTexts()
  const [foreign, setForeign] = useState(false)
  const add = useAction(async ({ email = "" }: Readonly<Record<string, string>>, isCurrent) => {
    setForeign(false)
    const made = await bodyOf(api.POST("/api/reseller/customers", { body: { email } }))
    const isLinked = made.created || (await readCustomers()).some(({ user_id }) => user_id === made.user_id)
    if (!isCurrent()) return
    if (isLinked) go(customerPath(made.user_id))
    else setForeign(true)
  })
  const hasIssue = add.problem?.issueOf("email") !== undefined
  return (
    <Card title={texts.customers.add}>
      <Form onSubmit={add.run}>
        <Field
          label={texts.customers.email}
          hint={texts.customers.emailHint}
          name="email"
          type="email"
          autocomplete="off"
          required
          error={hasIssue ? texts.access.emailIssue : undefined}
        />
        {foreign && (
          <Notice kind="warn" title={texts.mint.notLinked}>
            {texts.mint.notLinkedText}
          </Notice>
        )}
        {!hasIssue && <ProblemNotice problem={add.problem} />}
        <Submit running={add.running}>{texts.customers.add}</Submit>
      </Form>
    </Card>
  )
}

export const Customers = () => {
  const { customers: texts, shell } = useTexts()
  const format = useFormat()
  const [search, setSearch] = useState("")
  const customers = useLoaded(readCustomers, [])
  const found = customers.data?.filter(({ email }) => email.includes(search.trim().toLowerCase()))
  const list = () => {
    if (customers.data === undefined || found === undefined)
      return <Loading problem={customers.problem} retry={customers.reload} />
    if (customers.data.length === 0) {
      return (
        <Empty title={texts.none}>
          <p>{texts.noneText}</p>
        </Empty>
      )
    }
    return (
      <>
        <Field label={texts.search} type="search" value={search} autocomplete="off" onInput={setSearch} />
        <p class="unseen" role="status">
          {texts.found(format.count(found.length))}
        </p>
        {found.length === 0 && <Empty title={texts.noMatch} />}
        <ul class="rows">
          {found.slice(0, MAX_SHOWN).map(({ user_id, email }) => (
            <li key={user_id}>
              <a class="row" href={customerPath(user_id)}>
                <span dir="auto">{email}</span>
                <span class="chevron" aria-hidden="true" />
              </a>
            </li>
          ))}
        </ul>
        {found.length > MAX_SHOWN && <p class="small">{texts.moreFound(format.count(found.length - MAX_SHOWN))}</p>}
      </>
    )
  }
  return (
    <Page title={shell.pages.customers} intro={texts.intro}>
      <div class="columns">
        <Card title={texts.list}>{list()}</Card>
        <AddCustomer />
      </div>
    </Page>
  )
}
