/**
 * The frame of every page: the bar at the top, the navigation of the session, and the footer with language and theme.
 * On a narrow screen, such as that of a telephone, the navigation is at the bottom.
 */
import { useStore } from "@nanostores/preact"
import type { ComponentChildren } from "preact"
import { useEffect } from "preact/hooks"
import { api, bodyOf } from "../api/Client.ts"
import { type Action, useAction } from "../api/Loaded.ts"
import { Problem } from "../api/Problem.ts"
import { $languageFailed, type Language, setLanguage, useLanguage, useTexts } from "../i18n/Language.ts"
import { $router, type PageName, pathOf } from "../routes/Routes.ts"
import { $session, endSession, type Session } from "../state/Session.ts"
import { $theme, setTheme, type Theme, themes } from "../state/Theme.ts"
import { Icon, type IconName, Mark } from "./Icons.tsx"
import { LoadProblem, Notice } from "./Notices.tsx"
import { serviceName } from "./Page.tsx"

type Item = IconName & PageName

const navigation: { readonly [K in Session["kind"]]: ReadonlyArray<Item> } = {
  reseller: ["home", "mint", "customers", "topUps", "usage"],
  customer: ["balance", "clients"],
  operator: ["operatorHome", "operatorResellers", "operatorCustomers", "operatorTopUps", "operatorService"]
}

/** The item of the navigation to which a page belongs. */
const itemOf: { readonly [P in PageName]?: Item } = {
  customer: "customers",
  topUp: "topUps",
  newTopUp: "topUps",
  operatorReseller: "operatorResellers",
  operatorBlacklist: "operatorResellers",
  operatorCustomer: "operatorCustomers",
  operatorKey: "operatorCustomers",
  operatorTopUp: "operatorTopUps",
  operatorImages: "operatorService",
  operatorCatalog: "operatorService",
  operatorNodes: "operatorService",
  operatorHolds: "operatorService",
  operatorChecks: "operatorService",
  operatorAuditLog: "operatorService",
  operatorSessions: "operatorService"
}

const Navigation = ({ items, current }: { readonly items: ReadonlyArray<Item>; readonly current: string }) => {
  const { shell } = useTexts()
  return (
    <nav class="navigation" aria-label={shell.navigation}>
      {items.map((item) => (
        <a key={item} href={pathOf(item)} aria-current={item === current ? "page" : undefined}>
          <Icon name={item} />
          <span>{shell.pages[item]}</span>
        </a>
      ))}
    </nav>
  )
}

const Footer = () => {
  const { shell } = useTexts()
  const language = useLanguage()
  const theme = useStore($theme)
  return (
    <footer class="footer">
      <nav aria-label={shell.more}>
        <a href="/" rel="external">
          {shell.about}
        </a>
        <a href="/docs" rel="external">
          {shell.documentation}
        </a>
        <a href="/rankings" rel="external">
          {shell.rankings}
        </a>
      </nav>
      <label>
        <span class="unseen">{shell.language}</span>
        <select value={language} onChange={(event) => setLanguage(event.currentTarget.value as Language)}>
          <option value="id" lang="id">
            {shell.languages.id}
          </option>
          <option value="en" lang="en">
            {shell.languages.en}
          </option>
        </select>
      </label>
      <label>
        <span class="unseen">{shell.theme}</span>
        <select value={theme} onChange={(event) => setTheme(event.currentTarget.value as Theme)}>
          {themes.map((each) => (
            <option key={each} value={each}>
              {shell.themes[each]}
            </option>
          ))}
        </select>
      </label>
    </footer>
  )
}

/**
 * Deletes the credential. For an operator, first asks the gateway to end the session, so that its token is refused. If
 * the gateway does not confirm this, the credential stays, so that the operator can try again.
 */
const leave = async (session: Session): Promise<void> => {
  if (session.kind === "operator") {
    await bodyOf(api.DELETE("/api/operator/session")).catch((error: unknown) => {
      // A refused token belongs to a session that has ended already.
      if (!(error instanceof Problem && error.status === 401)) throw error
    })
  }
  endSession(session)
}

interface AccountLinkProps {
  readonly session: Session
  readonly current: string
  readonly leaving: Action<Session>
}

const AccountLink = ({ session, current, leaving }: AccountLinkProps) => {
  const { shell } = useTexts()
  if (session.kind !== "reseller") {
    return (
      <button type="button" class="button small" aria-disabled={leaving.running} onClick={() => leaving.run(session)}>
        {session.kind === "customer" ? shell.forgetKey : shell.leave}
      </button>
    )
  }
  return (
    <a class="account" href={pathOf("account")} aria-current={current === "account" ? "page" : undefined}>
      <Icon name="account" />
      <span class="account-name" dir="auto">
        {session.reseller.name}
      </span>
      <span class="unseen"> {shell.pages.account}</span>
    </a>
  )
}

export const Shell = ({ children }: { readonly children: ComponentChildren }) => {
  const { shell } = useTexts()
  const session = useStore($session)
  const route = useStore($router)?.route ?? "start"
  const current = itemOf[route] ?? route
  const languageFailed = useStore($languageFailed)
  const leaving = useAction(leave)
  useEffect(() => leaving.forget(), [session])
  return (
    <div class={session === undefined ? "shell" : "shell with-navigation"}>
      <a class="skip" href="#content" target="_self">
        {shell.skip}
      </a>
      <header class="top">
        <a class="wordmark" href={pathOf("start")}>
          <Mark />
          <span>{serviceName}</span>
        </a>
        {session === undefined ? (
          <a class="button small" href={pathOf("logIn")}>
            {shell.logIn}
          </a>
        ) : (
          <AccountLink session={session} current={current} leaving={leaving} />
        )}
      </header>
      {session !== undefined && <Navigation items={navigation[session.kind]} current={current} />}
      <main id="content" tabIndex={-1}>
        {leaving.problem !== undefined && session?.kind === "operator" && <Notice kind="bad">{shell.notEnded}</Notice>}
        {languageFailed && <LoadProblem />}
        {children}
      </main>
      <Footer />
    </div>
  )
}
