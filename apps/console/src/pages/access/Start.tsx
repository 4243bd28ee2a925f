/**
 * The first page without a session. It links to the signup and login of resellers, and to the page for an API key.
 */
import { useTexts } from "../../i18n/Language.ts"
import { pathOf } from "../../routes/Routes.ts"
import { Page, serviceName } from "../../ui/Page.tsx"

export const Start = () => {
  const { start } = useTexts()
  return (
    <Page title={start.title(serviceName)} intro={start.intro}>
      <div class="choices">
        <section class="card choice">
          <h2>{start.reseller}</h2>
          <p>{start.resellerText}</p>
          <p class="actions">
            <a class="button primary" href={pathOf("signUp")}>
              {start.signUp}
            </a>
            <a class="button" href={pathOf("logIn")}>
              {start.logIn}
            </a>
          </p>
        </section>
        <section class="card choice">
          <h2>{start.customer}</h2>
          <p>{start.customerText}</p>
          <p class="actions">
            <a class="button primary" href={pathOf("enterKey")}>
              {start.enterKey}
            </a>
          </p>
        </section>
      </div>
    </Page>
  )
}
