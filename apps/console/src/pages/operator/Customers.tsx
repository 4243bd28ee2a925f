/**
 * All customers, newest first, with a search, a filter, and a form that creates one.
 */
import { api, bodyOf } from "../../api/Client.ts"
import { useAction } from "../../api/Loaded.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import { go, operatorPath } from "../../routes/Routes.ts"
import { Field, Form, Submit } from "../../ui/Forms.tsx"
import { Card, Page } from "../../ui/Page.tsx"
import { OperatorProblem } from "./Problems.tsx"
import { SearchList } from "./SearchList.tsx"

const CreateCustomer = () => {
  const { customers: texts } = useOperatorTexts()
  const create = useAction(async ({ email = "" }: Readonly<Record<string, string>>, isCurrent) => {
    const { user_id } = await bodyOf(api.POST("/api/operator/customers", { body: { email } }))
    if (isCurrent()) go(operatorPath("operatorCustomer", user_id))
  })
  const hasIssue = create.problem?.issueOf("email") !== undefined
  return (
    <Card title={texts.create}>
      <Form onSubmit={create.run}>
        <Field
          label={texts.email}
          name="email"
          type="email"
          autocomplete="off"
          required
          error={hasIssue ? texts.emailIssue : undefined}
        />
        {!hasIssue && <OperatorProblem problem={create.problem} />}
        <Submit running={create.running}>{texts.create}</Submit>
      </Form>
    </Card>
  )
}

export const Customers = () => {
  const { shell } = useTexts()
  const { customers: texts } = useOperatorTexts()
  const format = useFormat()
  return (
    <Page title={shell.pages.operatorCustomers}>
      <div class="columns">
        <SearchList
          texts={texts}
          statuses={["active", "blocked"]}
          read={(query) => bodyOf(api.GET("/api/operator/customers", { params: { query } }))}
          row={(customer) => (
            <li key={customer.user_id}>
              <a class="row" href={operatorPath("operatorCustomer", customer.user_id)}>
                <span class="row-main">
                  <span dir="auto">{customer.email}</span>
                  <small>
                    {texts.keys(format.count(customer.active_keys))}
                    {customer.resellers.length > 0 && (
                      <>
                        <br />
                        <span dir="auto">{texts.of(customer.resellers.join(", "))}</span>
                      </>
                    )}
                  </small>
                </span>
                <span class="row-side">
                  <span class="money">{format.dollars(customer.payg.balance)}</span>
                  {customer.status === "blocked" && <span class="badge bad">{texts.statuses.blocked}</span>}
                </span>
              </a>
            </li>
          )}
        />
        <CreateCustomer />
      </div>
    </Page>
  )
}
