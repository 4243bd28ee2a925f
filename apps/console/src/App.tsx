/**
 * Selects the page of the current path. The pages of a session are loaded on demand, and only with a session. Without a
 * session, `AskForSession` leaves such a page.
 */
import { useStore } from "@nanostores/preact"
import type { ComponentType } from "preact"
import { useEffect, useState } from "preact/hooks"
import { useTexts } from "./i18n/Language.ts"
import { EnterKey } from "./pages/access/EnterKey.tsx"
import { LogIn } from "./pages/access/LogIn.tsx"
import { hasCode, OperatorEntry } from "./pages/access/OperatorEntry.tsx"
import { SignUp } from "./pages/access/SignUp.tsx"
import { Start } from "./pages/access/Start.tsx"
import { Waiting } from "./pages/access/Waiting.tsx"
import {
  $router,
  addressOf,
  type CustomerPage,
  goInstead,
  type OperatorPage,
  type PageName,
  type PageProps,
  pathOf,
  type ResellerPage
} from "./routes/Routes.ts"
import { $returnPath } from "./state/ReturnPath.ts"
import { $hasLeft, $session, type Session } from "./state/Session.ts"
import { Empty, Loading, LoadProblem } from "./ui/Notices.tsx"
import { Page } from "./ui/Page.tsx"
import { Shell } from "./ui/Shell.tsx"

type Pages<Names extends string> = { readonly [N in Names]: ComponentType<PageProps> }
type Loader<Names extends string> = () => Promise<{ readonly pages: Pages<Names> }>

const open: { readonly [N in PageName]?: ComponentType } = {
  start: Start,
  signUp: SignUp,
  logIn: LogIn,
  waiting: Waiting,
  enterKey: EnterKey,
  operator: OperatorEntry
}

const reseller: Loader<ResellerPage> = () => import("./pages/reseller/ResellerPages.ts")
const operator: Loader<OperatorPage> = () => import("./pages/operator/OperatorPages.ts")
const customer: Loader<CustomerPage> = () => import("./pages/customer/CustomerPages.ts")

const customerPages: ReadonlySet<string> = new Set<CustomerPage>(["balance", "clients"])

const Unknown = () => {
  const { shell } = useTexts()
  return (
    <Page title={shell.unknownPage} narrow>
      <Empty title={shell.unknownPageHint}>
        <a class="button" href={pathOf("start")}>
          {shell.toStart}
        </a>
      </Empty>
    </Page>
  )
}

interface LazyProps<N extends string> {
  readonly load: Loader<N>
  readonly name: N
  readonly id: string
  /** The path with the query. Another address opens the page anew, because a query sets the first values of a form. */
  readonly address: string
}

/** Loads the pages of one kind of session and shows one of them. */
const Lazy = <N extends string>({ load, name, id, address }: LazyProps<N>) => {
  const [pages, setPages] = useState<Pages<N>>()
  const [failed, setFailed] = useState(false)
  useEffect(() => {
    load().then(
      (loaded) => setPages(() => loaded.pages),
      () => setFailed(true)
    )
  }, [load])
  if (failed) return <LoadProblem />
  if (pages === undefined) return <Loading problem={undefined} retry={() => undefined} />
  const Shown: ComponentType<PageProps> = pages[name]
  return <Shown key={address} id={id} />
}

const homes = { reseller: "home", customer: "balance", operator: "operatorHome" } as const
const homeOf = ({ kind }: Session): string => pathOf(homes[kind])

const entries = { reseller: "logIn", customer: "enterKey", operator: "operator" } as const

/**
 * Leaves the page of `address`, which the current session cannot show, such as the login. If the session cannot show
 * the next page either, the component leaves that page, too.
 */
const Enter = ({ session, address }: { readonly session: Session; readonly address: string }) => {
  useEffect(() => {
    const wanted = $returnPath.get()
    $returnPath.set(undefined)
    goInstead(wanted ?? homeOf(session))
  }, [address])
  return null
}

/**
 * Leaves a page that needs a session. The next session returns to this page, unless the user has ended the last
 * session.
 */
const AskForSession = ({ kind, address }: { readonly kind: Session["kind"]; readonly address: string }) => {
  useEffect(() => {
    const hasLeft = $hasLeft.get()
    $returnPath.set(hasLeft ? undefined : address)
    goInstead(pathOf(hasLeft ? "start" : entries[kind]))
  }, [])
  return null
}

const Content = () => {
  const route = useStore($router)
  const session = useStore($session)
  const isOpen = route === undefined || open[route.route] !== undefined
  useEffect(() => {
    if (isOpen) $hasLeft.set(false)
  }, [isOpen, session])
  if (route === undefined) return <Unknown />
  const name = route.route
  const address = addressOf(route)
  const Open = open[name]
  // The link of an operator opens a new session, even if the tab has another session.
  if (name === "operator" && (session === undefined || hasCode())) return <OperatorEntry />
  if (Open !== undefined) return session === undefined ? <Open /> : <Enter session={session} address={address} />
  const kind = customerPages.has(name) ? "customer" : name.startsWith("operator") ? "operator" : "reseller"
  if (session === undefined) return <AskForSession kind={kind} address={address} />
  if (session.kind !== kind) return <Enter session={session} address={address} />
  const id = "id" in route.params ? route.params.id : ""
  const shown = { id, address }
  if (kind === "operator") return <Lazy load={operator} name={name as OperatorPage} {...shown} />
  return kind === "customer" ? (
    <Lazy load={customer} name={name as CustomerPage} {...shown} />
  ) : (
    <Lazy load={reseller} name={name as ResellerPage} {...shown} />
  )
}

export const App = () => (
  <Shell>
    <Content />
  </Shell>
)
