/**
 * Links to pages of the operator that are not in the navigation.
 */
import { useTexts } from "../../i18n/Language.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import { pathOf } from "../../routes/Routes.ts"
import { Card, Page } from "../../ui/Page.tsx"

export const Service = () => {
  const { shell } = useTexts()
  const { service: texts } = useOperatorTexts()
  const links = [
    [pathOf("operatorCatalog"), texts.catalog, texts.catalogText],
    [pathOf("operatorImages"), texts.images, texts.imagesText],
    [pathOf("operatorNodes"), texts.nodes, texts.nodesText],
    [pathOf("operatorHolds"), texts.holds, texts.holdsText],
    [pathOf("operatorChecks"), texts.checks, texts.checksText],
    [pathOf("operatorAuditLog"), texts.auditLog, texts.auditLogText],
    [pathOf("operatorSessions"), texts.sessions, texts.sessionsText],
    [pathOf("operatorBlacklist"), texts.blacklist, texts.blacklistText]
  ] as const
  return (
    <Page title={shell.pages.operatorService} intro={texts.intro}>
      <Card title={shell.pages.operatorService}>
        <ul class="rows">
          {links.map(([path, name, text]) => (
            <li key={path}>
              <a class="row" href={path}>
                <span class="row-main">
                  <span>{name}</span>
                  <small>{text}</small>
                </span>
                <span class="chevron" aria-hidden="true" />
              </a>
            </li>
          ))}
        </ul>
      </Card>
    </Page>
  )
}
