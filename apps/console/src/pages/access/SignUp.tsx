/**
 * Signs a reseller up. An operator reviews the account before its first login.
 */
import { api, bodyOf } from "../../api/Client.ts"
import { useAction } from "../../api/Loaded.ts"
import { useTexts } from "../../i18n/Language.ts"
import { go, pathOf } from "../../routes/Routes.ts"
import { $waiting } from "../../state/ReturnPath.ts"
import { Field, Form, Submit } from "../../ui/Forms.tsx"
import { ProblemNotice } from "../../ui/Notices.tsx"
import { Page } from "../../ui/Page.tsx"

/** Returns a WhatsApp number as digits with the country code. A number that begins with 0 is Indonesian. */
const digitsOf = (number: string): string => number.replace(/[\s()+.-]/g, "").replace(/^0(?=8)/, "62")

export const SignUp = () => {
  const { access } = useTexts()
  const signUp = useAction(async (values: Readonly<Record<string, string>>) => {
    const { name = "", email = "", number = "", password = "" } = values
    await bodyOf(
      api.POST("/api/reseller/auth/signup", { body: { name, email, password, wa_number: digitsOf(number) } })
    )
    $waiting.set({ email, password })
    go(pathOf("waiting"))
  })
  const issue = (path: string, text: string) => (signUp.problem?.issueOf(path) === undefined ? undefined : text)
  const isGeneral = signUp.problem !== undefined && signUp.problem.code !== "validation_error"
  return (
    <Page title={access.signUp} intro={access.signUpIntro} narrow>
      <Form onSubmit={signUp.run} class="form card">
        <Field
          label={access.name}
          name="name"
          autocomplete="organization"
          required
          maxLength={200}
          error={issue("name", access.nameIssue)}
        />
        <Field
          label={access.email}
          name="email"
          type="email"
          autocomplete="email"
          required
          error={issue("email", access.emailIssue)}
        />
        <Field
          label={access.number}
          hint={access.numberHint}
          name="number"
          type="tel"
          autocomplete="tel"
          required
          error={issue("wa_number", access.numberIssue)}
        />
        <Field
          label={access.password}
          hint={access.passwordHint}
          name="password"
          type="password"
          autocomplete="new-password"
          required
          minLength={8}
          maxLength={128}
          error={issue("password", access.passwordHint)}
        />
        {isGeneral && <ProblemNotice problem={signUp.problem} />}
        <Submit running={signUp.running}>{access.signUp}</Submit>
        <p class="small">
          {access.haveAccount} <a href={pathOf("logIn")}>{access.logIn}</a>
        </p>
      </Form>
    </Page>
  )
}
