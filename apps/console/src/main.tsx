/**
 * Starts the console. The texts of the user's language are loaded before the first page is drawn.
 */
import { render } from "preact"
import "@tollgate/adapters-http/assets/theme.css"
import "./styles/elements.css"
import "./styles/layout.css"
import "./styles/parts.css"
import "./styles/forms.css"
import { App } from "./App.tsx"
import { startLanguage } from "./i18n/Language.ts"
import { showLoadFailure } from "./i18n/LoadFailure.ts"
import { startTheme } from "./state/Theme.ts"

/** Fails if the texts cannot be loaded, or if the browser allows this site to store no data. */
const start = async (): Promise<void> => {
  startTheme()
  await startLanguage()
}

const root = document.getElementById("console")
if (root !== null) {
  await start().then(
    () => render(<App />, root),
    () => showLoadFailure(root)
  )
}
