/**
 * The API keys of a customer. The secret of a new key is shown once, with settings for the customer's programs.
 */
import { useState } from "preact/hooks"
import { api, bodyOf } from "../../api/Client.ts"
import { useAction } from "../../api/Loaded.ts"
import { type ListedKey, readTiers } from "../../api/Reseller.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { ClientSettings } from "../../ui/ClientSettings.tsx"
import { Copy } from "../../ui/Copy.tsx"
import { Question } from "../../ui/Dialog.tsx"
import { Field, Form, Submit } from "../../ui/Forms.tsx"
import { Empty, Notice, ProblemNotice } from "../../ui/Notices.tsx"
import { Card } from "../../ui/Page.tsx"
import { More, usePages } from "../../ui/Pages.tsx"

interface CreateProps {
  readonly id: string
  readonly models: ReadonlyArray<string>
  readonly onCreated: () => void
}

const CreateKey = ({ id, models, onCreated }: CreateProps) => {
  const { keys } = useTexts()
  const [secret, setSecret] = useState<string>()
  const [choices, setChoices] = useState(models)
  const create = useAction(async ({ name = "" }: Readonly<Record<string, string>>) => {
    const path = { userID: id }
    const key = await bodyOf(api.POST("/api/reseller/customers/{userID}/keys", { params: { path }, body: { name } }))
    setSecret(key.secret)
    onCreated()
    if (models.length > 0) setChoices(models)
    else setChoices([...new Set((await readTiers(new AbortController().signal)).map(({ model_name }) => model_name))])
  })
  if (secret !== undefined) {
    return (
      <div class="stack">
        <Notice kind="good" title={keys.created}>
          {keys.createdText}
        </Notice>
        <Copy text={secret} label={keys.secret} />
        <h3>{keys.settings}</h3>
        <ClientSettings models={choices} apiKey={secret} />
        <p>
          <button type="button" class="button" onClick={() => setSecret(undefined)}>
            {keys.stored}
          </button>
        </p>
      </div>
    )
  }
  return (
    <Form onSubmit={create.run} class="form inline">
      <Field label={keys.name} hint={keys.nameHint} name="name" autocomplete="off" required maxLength={200} />
      <Submit running={create.running}>{keys.create}</Submit>
      {create.problem?.isUnknown === true ? (
        <Notice kind="warn" title={keys.unknown}>
          {keys.unknownText}
        </Notice>
      ) : (
        <ProblemNotice problem={create.problem} />
      )}
    </Form>
  )
}

interface KeyRowProps {
  readonly entry: ListedKey
  readonly onRevoke: () => void
}

const KeyRow = ({ entry, onRevoke }: KeyRowProps) => {
  const { keys } = useTexts()
  const format = useFormat()
  return (
    <li class="row">
      <span class="row-main">
        <span dir="auto">{entry.name}</span>
        <small>
          <code>{entry.prefix}…</code>
          <br />
          {keys.createdAt(format.time(entry.created_at))}
          <br />
          {entry.revoked_at !== null
            ? keys.revokedAt(format.time(entry.revoked_at))
            : entry.last_used_at === null
              ? keys.neverUsed
              : keys.lastUsed(format.time(entry.last_used_at))}
        </small>
      </span>
      {entry.revoked_at === null ? (
        <button type="button" class="button small" onClick={onRevoke}>
          {keys.revoke}
          <span class="unseen"> {entry.name}</span>
        </button>
      ) : (
        <span class="badge">{keys.revoked}</span>
      )}
    </li>
  )
}

interface KeysProps {
  readonly id: string
  /** The models of the customer's plans; undefined while they are loaded. */
  readonly models: ReadonlyArray<string> | undefined
}

export const CustomerKeys = ({ id, models }: KeysProps) => {
  const { keys } = useTexts()
  const [round, setRound] = useState(0)
  const [chosen, setChosen] = useState<ListedKey>()
  const list = usePages(
    (cursor) => {
      const query = cursor === undefined ? {} : { cursor }
      return bodyOf(api.GET("/api/reseller/customers/{userID}/keys", { params: { path: { userID: id }, query } }))
    },
    [id, round]
  )
  const revoke = useAction(async (key: ListedKey) => {
    await bodyOf(api.DELETE("/api/reseller/keys/{keyID}", { params: { path: { keyID: key.key_id } } }))
    setChosen(undefined)
    setRound((count) => count + 1)
  })
  return (
    <Card title={keys.title}>
      <CreateKey id={id} models={models ?? []} onCreated={() => setRound((count) => count + 1)} />
      {list.cursor === null && list.items.length === 0 && (
        <Empty title={keys.none}>
          <p>{keys.noneText}</p>
        </Empty>
      )}
      <ul class="rows">
        {list.items.map((entry) => (
          <KeyRow key={entry.key_id} entry={entry} onRevoke={() => setChosen(entry)} />
        ))}
      </ul>
      <More pages={list} />
      {chosen !== undefined && (
        <Question
          title={keys.revokeQuestion(chosen.name)}
          confirm={keys.revoke}
          running={revoke.running}
          onConfirm={() => revoke.run(chosen)}
          onCancel={() => {
            revoke.forget()
            setChosen(undefined)
          }}
        >
          <p>{keys.revokeText}</p>
          <ProblemNotice problem={revoke.problem} />
        </Question>
      )}
    </Card>
  )
}
