/**
 * Ready-made settings of client programs, for this gateway, a model and an API key.
 */
import { useState } from "preact/hooks"
import { useTexts } from "../i18n/Language.ts"
import { type ClientName, clientNames, settingsOf } from "./ClientPrograms.ts"
import { Copy } from "./Copy.tsx"
import { Select } from "./Forms.tsx"

interface ClientSettingsProps {
  readonly models: ReadonlyArray<string>
  readonly apiKey: string
}

/** The name of the model in the settings if `models` is empty. */
const PLACEHOLDER = "model"

export const ClientSettings = ({ models, apiKey }: ClientSettingsProps) => {
  const { clients } = useTexts()
  const [client, setClient] = useState<ClientName>("curl")
  const [chosen, setChosen] = useState<string>()
  const model = chosen ?? models[0] ?? PLACEHOLDER
  return (
    <div class="stack">
      <div class="filters">
        <Select
          label={clients.program}
          value={client}
          onSelect={(name) => setClient(name as ClientName)}
          options={clientNames.map((name) => [name, clients.names[name]])}
        />
        {models.length > 1 && (
          <Select
            label={clients.model}
            value={model}
            onSelect={setChosen}
            options={models.map((name) => [name, name])}
          />
        )}
      </div>
      {settingsOf(client, { origin: location.origin, key: apiKey, model }).map(({ file, text }) => (
        <div key={file ?? ""} class="stack tight">
          <p class="small">{file === undefined ? clients.inShell : clients.inFile(file)}</p>
          <Copy block text={text} label={file ?? clients.names[client]} />
        </div>
      ))}
    </div>
  )
}
