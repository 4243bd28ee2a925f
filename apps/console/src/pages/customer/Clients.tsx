/**
 * The settings of client programs for the customer's own key and models.
 */
import { useStore } from "@nanostores/preact"
import { api, bodyOf } from "../../api/Client.ts"
import { useLoaded } from "../../api/Loaded.ts"
import { useTexts } from "../../i18n/Language.ts"
import { $session } from "../../state/Session.ts"
import { ClientSettings } from "../../ui/ClientSettings.tsx"
import { Loading, Notice } from "../../ui/Notices.tsx"
import { Card, Page } from "../../ui/Page.tsx"

/** Returns the models that the customer's API key can call, beginning with the models of the customer's plans. */
const readModels = async (signal: AbortSignal): Promise<ReadonlyArray<string>> => {
  const [balance, models] = await Promise.all([
    bodyOf(api.GET("/v1/balance", { signal })),
    bodyOf(api.GET("/v1/models", { signal }))
  ])
  const listed = new Set(models.data.map(({ id }) => id))
  const planned = balance.token_plans.filter(({ model }) => listed.has(model)).map(({ model }) => model)
  return [...new Set([...planned, ...listed])]
}

export const Clients = () => {
  const { clients, shell } = useTexts()
  const session = useStore($session)
  const models = useLoaded(readModels, [])
  if (session?.kind !== "customer") return null
  return (
    <Page title={shell.pages.clients} intro={clients.intro} narrow>
      <Card title={clients.title}>
        {models.data === undefined ? (
          <Loading problem={models.problem} retry={models.reload} />
        ) : (
          <ClientSettings models={models.data} apiKey={session.key} />
        )}
      </Card>
      <Notice kind="info">{clients.secret}</Notice>
    </Page>
  )
}
