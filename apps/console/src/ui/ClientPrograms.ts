/**
 * The settings of client programs. A test searches docs/clients.md for the lines of these settings, except those for
 * curl and the key. That document names the tested versions.
 */
export const clientNames = ["curl", "openai", "anthropic", "claudeCode", "codex", "opencode"] as const
export type ClientName = (typeof clientNames)[number]

export interface Target {
  readonly origin: string
  readonly key: string
  readonly model: string
}

export interface Setting {
  /** The file that contains the text; undefined for commands of a shell. */
  readonly file?: string
  readonly text: string
}

/** Quotes a text for JSON or TOML. */
const quoted = (text: string): string => JSON.stringify(text)

const inSingleQuotes = (text: string): string => text.replaceAll("'", `'\\''`)

/** Quotes a word of a shell command, if it contains characters that a shell interprets. */
const word = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${inSingleQuotes(text)}'`)

const exportKey = ({ key }: Target): string => `export TOLLGATE_KEY=${key}`

const settings: { readonly [C in ClientName]: (target: Target) => ReadonlyArray<Setting> } = {
  curl: ({ origin, key, model }) => [
    {
      text: [
        `curl -N ${origin}/v1/chat/completions \\`,
        `  -H "Authorization: Bearer ${key}" -H "Content-Type: application/json" \\`,
        `  -d '{"model":${inSingleQuotes(quoted(model))},"stream":true,` +
          `"messages":[{"role":"user","content":"Hello!"}]}'`
      ].join("\n")
    }
  ],
  openai: ({ origin, key }) => [
    { text: [`export OPENAI_BASE_URL=${origin}/v1`, `export OPENAI_API_KEY=${key}`].join("\n") }
  ],
  anthropic: ({ origin, key }) => [
    { text: [`export ANTHROPIC_BASE_URL=${origin}`, `export ANTHROPIC_API_KEY=${key}`].join("\n") }
  ],
  claudeCode: (target) => [
    {
      text: [
        exportKey(target),
        `export ANTHROPIC_BASE_URL=${target.origin}`,
        "export ANTHROPIC_AUTH_TOKEN=$TOLLGATE_KEY",
        `export ANTHROPIC_MODEL=${word(target.model)}`,
        `export ANTHROPIC_DEFAULT_HAIKU_MODEL=${word(target.model)}`,
        "export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
        "unset ANTHROPIC_API_KEY"
      ].join("\n")
    }
  ],
  codex: (target) => [
    {
      file: "~/.codex/config.toml",
      text: [
        `model = ${quoted(target.model)}`,
        'model_provider = "tollgate"',
        'web_search = "disabled"',
        "",
        "[model_providers.tollgate]",
        'name = "Tollgate"',
        `base_url = "${target.origin}/v1"`,
        'env_key = "TOLLGATE_KEY"',
        'wire_api = "responses"'
      ].join("\n")
    },
    { text: exportKey(target) }
  ],
  opencode: (target) => [
    {
      file: "opencode.json",
      text: `{
  "$schema": "https://opencode.ai/config.json",
  "provider": {
    "tollgate": {
      "npm": "@ai-sdk/openai-compatible",
      "name": "Tollgate",
      "options": { "baseURL": "${target.origin}/v1", "apiKey": "{env:TOLLGATE_KEY}" },
      "models": { ${quoted(target.model)}: { "name": ${quoted(target.model)} } }
    }
  }
}`
    },
    { text: exportKey(target) }
  ]
}

export const settingsOf = (client: ClientName, target: Target): ReadonlyArray<Setting> => settings[client](target)
