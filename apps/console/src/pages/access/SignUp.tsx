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

/** Removes the separators of a WhatsApp number. A number that begins with 08 gets the country code of Indonesia. */
const digitsOf = (number: string): string => number.replace(/[\s()+.-]/g, "").replace(/^0(?=8)/, "62")

/**
 * The fields of the form. The password has no `maxLength`, with which a browser would cut off the end of a pasted
 * password. `member` is the member of the request body that a field sets.
 */
const fields = [
  { name: "name", member: "name", autocomplete: "organization", maxLength: 200 },
  { name: "email", member: "email", type: "email", autocomplete: "email" },
  { name: "number", member: "wa_number", type: "tel", autocomplete: "tel" },
  { name: "password", member: "password", type: "password", autocomplete: "new-password", minLength: 8 }
] as const

/** Texts of some fields. */
type Texts = { readonly [N in (typeof fields)[number]["name"]]?: string }

export const SignUp = () => {
  const { access } = useTexts()
  const signUp = useAction(async (values: Readonly<Record<string, string>>, isCurrent) => {
    const { name = "", email = "", number = "", password = "" } = values
    await bodyOf(
      api.POST("/api/reseller/auth/signup", { body: { name, email, password, wa_number: digitsOf(number) } })
    )
    if (!isCurrent()) return
    $waiting.set({ email, password })
    go(pathOf("waiting"))
  })
  const hints: Texts = { number: access.numberHint, password: access.passwordHint }
  const issues: Texts = {
    name: access.nameIssue,
    email: access.emailIssue,
    number: access.numberIssue,
    password: access.passwordHint
  }
  const isGeneral = signUp.problem !== undefined && signUp.problem.code !== "validation_error"
  return (
    <Page title={access.signUp} intro={access.signUpIntro} narrow>
      <Form onSubmit={signUp.run} class="form card">
        {fields.map(({ member, ...field }) => (
          <Field
            key={member}
            {...field}
            label={access[field.name]}
            hint={hints[field.name]}
            required
            error={signUp.problem?.issueOf(member) === undefined ? undefined : issues[field.name]}
          />
        ))}
        {isGeneral && <ProblemNotice problem={signUp.problem} />}
        <Submit running={signUp.running}>{access.signUp}</Submit>
        <p class="small">
          {access.haveAccount} <a href={pathOf("logIn")}>{access.logIn}</a>
        </p>
      </Form>
    </Page>
  )
}
