/**
 * The API keys of a customer with their limits. The secret of a new key is shown once, with settings for the customer's
 * programs.
 */
import { useState } from "preact/hooks"
import { api, bodyOf } from "../../api/Client.ts"
import { hasExpired, type LimitValues } from "../../api/KeyLimits.ts"
import { asProblem, useAction, useLoaded } from "../../api/Loaded.ts"
import { type ListedKey, readSoldModels } from "../../api/Reseller.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { ClientSettings } from "../../ui/ClientSettings.tsx"
import { Copy } from "../../ui/Copy.tsx"
import { Question } from "../../ui/Dialog.tsx"
import { Field, Form, Submit } from "../../ui/Forms.tsx"
import { LimitWords } from "../../ui/KeyLimits.tsx"
import { isAboutLimits, LimitFields, useLimitReader } from "../../ui/LimitFields.tsx"
import { Notice, ProblemNotice } from "../../ui/Notices.tsx"
import { Card } from "../../ui/Page.tsx"
import { usePages } from "../../ui/Pages.tsx"
import { RowList } from "../../ui/RowList.tsx"
import { Steps } from "../../ui/Steps.tsx"
import { ChangeLimits } from "./ChangeLimits.tsx"

interface CreateProps {
  readonly id: string
  /** The models of the customer's plans. */
  readonly planned: ReadonlyArray<string>
  /** The models that the reseller can sell. */
  readonly sold: ReadonlyArray<string>
  /** Called when the list can contain a new key. */
  readonly onCreated: () => void
}

interface CreatedKey {
  readonly secret: string
  /** The models to choose from in the settings of programs. */
  readonly models: ReadonlyArray<string>
}

interface SecretProps {
  readonly created: CreatedKey
  readonly onStored: () => void
}

const Secret = ({ created, onStored }: SecretProps) => {
  const { keys } = useTexts()
  return (
    <div class="stack">
      <Notice kind="good" title={keys.created}>
        {keys.createdText}
      </Notice>
      <Copy text={created.secret} label={keys.secret} />
      <h3>{keys.settings}</h3>
      <ClientSettings models={created.models} apiKey={created.secret} />
      <p>
        <button type="button" class="button" onClick={onStored}>
          {keys.stored}
        </button>
      </p>
    </div>
  )
}

const CreateKey = ({ id, planned, sold, onCreated }: CreateProps) => {
  const { keys, limits: texts } = useTexts()
  const [created, setCreated] = useState<CreatedKey>()
  const reader = useLimitReader(null)
  const create = useAction(async (values: LimitValues) => {
    const limits = reader.read(values)
    if (limits === undefined) return
    const params = { path: { userID: id } }
    const body = { name: values.name ?? "", ...(Object.keys(limits).length > 0 ? { limits } : {}) }
    const key = await bodyOf(api.POST("/api/reseller/customers/{userID}/keys", { params, body })).catch((error) => {
      if (asProblem(error).isUnknown) onCreated()
      throw error
    })
    setCreated({ secret: key.secret, models: key.limits?.models ?? (planned.length > 0 ? planned : sold) })
    onCreated()
  })
  const form = (
    <Form onSubmit={create.run}>
      <Field label={keys.name} hint={keys.nameHint} name="name" autocomplete="off" required maxLength={200} />
      <details class="more-fields">
        <summary>{texts.optional}</summary>
        <div class="form">
          <LimitFields
            limits={null}
            models={[...planned, ...sold]}
            issueOf={(member) => reader.issueOf(member, create.problem)}
          />
        </div>
      </details>
      {create.problem?.isUnknown === true ? (
        <Notice kind="warn" title={keys.unknown}>
          {keys.unknownText}
        </Notice>
      ) : (
        !isAboutLimits(create.problem) && <ProblemNotice problem={create.problem} />
      )}
      <Submit running={create.running}>{keys.create}</Submit>
    </Form>
  )
  return (
    <Steps step={created === undefined ? "form" : "secret"}>
      {created === undefined ? form : <Secret created={created} onStored={() => setCreated(undefined)} />}
    </Steps>
  )
}

interface KeyRowProps {
  readonly entry: ListedKey
  readonly onLimits: () => void
  readonly onRevoke: () => void
}

const KeyRow = ({ entry, onLimits, onRevoke }: KeyRowProps) => {
  const { keys, limits: texts } = useTexts()
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
          {entry.limits !== null && (
            <>
              <br />
              <LimitWords limits={entry.limits} />
            </>
          )}
        </small>
      </span>
      {entry.revoked_at === null ? (
        <span class="row-side">
          {hasExpired(entry.limits) && <span class="badge warn">{texts.expired}</span>}
          <button type="button" class="button small" onClick={onLimits}>
            {texts.title}
            <span class="unseen"> {entry.name}</span>
          </button>
          <button type="button" class="button small" onClick={onRevoke}>
            {keys.revoke}
            <span class="unseen"> {entry.name}</span>
          </button>
        </span>
      ) : (
        <span class="badge">{keys.revoked}</span>
      )}
    </li>
  )
}

interface KeysProps {
  readonly id: string
  /** The models of the customer's plans; undefined until they are loaded. */
  readonly models: ReadonlyArray<string> | undefined
}

interface Chosen {
  readonly entry: ListedKey
  readonly for: "limits" | "revocation"
}

export const CustomerKeys = ({ id, models = [] }: KeysProps) => {
  const { keys } = useTexts()
  const [round, setRound] = useState(0)
  const [chosen, setChosen] = useState<Chosen>()
  const sold = useLoaded(readSoldModels, [])
  const list = usePages(
    (cursor) => {
      const query = cursor === undefined ? {} : { cursor }
      return bodyOf(api.GET("/api/reseller/customers/{userID}/keys", { params: { path: { userID: id }, query } }))
    },
    [id, round]
  )
  const readAgain = () => setRound((count) => count + 1)
  const revoke = useAction(async ({ key_id }: ListedKey, isCurrent) => {
    await bodyOf(api.DELETE("/api/reseller/keys/{keyID}", { params: { path: { keyID: key_id } } }))
    // If the reseller has cancelled this dialog, another dialog can be open. It stays open.
    if (isCurrent()) setChosen(undefined)
    readAgain()
  })
  const close = () => {
    revoke.forget()
    setChosen(undefined)
  }
  return (
    <Card title={keys.title}>
      <CreateKey id={id} planned={models} sold={sold.data ?? []} onCreated={readAgain} />
      <RowList
        pages={list}
        none={keys.none}
        hint={keys.noneText}
        row={(entry) => (
          <KeyRow
            key={entry.key_id}
            entry={entry}
            onLimits={() => setChosen({ entry, for: "limits" })}
            onRevoke={() => setChosen({ entry, for: "revocation" })}
          />
        )}
      />
      {chosen?.for === "limits" && (
        <ChangeLimits
          entry={chosen.entry}
          models={[...models, ...(sold.data ?? [])]}
          onChanged={readAgain}
          onClose={close}
        />
      )}
      {chosen?.for === "revocation" && (
        <Question
          title={keys.revokeQuestion(chosen.entry.name)}
          confirm={keys.revoke}
          running={revoke.running}
          onConfirm={() => revoke.run(chosen.entry)}
          onCancel={close}
        >
          <p>{keys.revokeText}</p>
          <ProblemNotice problem={revoke.problem} />
        </Question>
      )}
    </Card>
  )
}
