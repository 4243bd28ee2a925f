/**
 * Mints a tier to a customer in three steps: choose, confirm, done. The customer is created if it does not exist yet.
 */
import { useStore } from "@nanostores/preact"
import { useEffect, useState } from "preact/hooks"
import { api, bodyOf } from "../../api/Client.ts"
import { useAction, useLoaded } from "../../api/Loaded.ts"
import { Problem } from "../../api/Problem.ts"
import { readCustomers, readQuota, readTiers, type Tier } from "../../api/Reseller.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { $router } from "../../routes/Routes.ts"
import { $pendingMint, forgetMint, prepareMint } from "../../state/PendingMint.ts"
import { Field, Form, Submit } from "../../ui/Forms.tsx"
import { Empty, Loading, Notice, ProblemNotice } from "../../ui/Notices.tsx"
import { Page } from "../../ui/Page.tsx"
import { Steps } from "../../ui/Steps.tsx"
import { ConfirmMint, MintDone, type Minted } from "./ConfirmMint.tsx"
import { MintHistory } from "./MintHistory.tsx"

const NOT_LINKED = "not_linked"

/**
 * Returns the email of a customer of the reseller. Creates the customer if no user has this email. Fails if the user is
 * not a customer of the reseller, because the reseller could create no keys for this user.
 */
const resolveCustomer = async (email: string): Promise<string> => {
  const wanted = email.toLowerCase()
  if ((await readCustomers()).some((customer) => customer.email === wanted)) return wanted
  const made = await bodyOf(api.POST("/api/reseller/customers", { body: { email } }))
  const isCustomer = made.created || (await readCustomers()).some(({ user_id }) => user_id === made.user_id)
  if (!isCustomer) throw new Problem(422, NOT_LINKED, "")
  return made.email
}

const TierChoice = ({
  tier,
  quota,
  chosen
}: {
  readonly tier: Tier
  readonly quota: bigint
  readonly chosen: boolean
}) => {
  const { mint } = useTexts()
  const format = useFormat()
  const isCovered = quota >= BigInt(tier.price_usd_micro)
  return (
    <label class="tier">
      <input type="radio" name="tier" value={tier.plan_tier_id} required defaultChecked={chosen} />
      <span class="tier-body">
        <span class="tier-model" dir="auto">
          {tier.model_name}
        </span>
        <span class="tier-tokens">{mint.tokens(format.count(tier.granted_tokens))}</span>
        {!isCovered && <span class="tier-short">{mint.notCovered(format.idr(tier.topup_idr_required))}</span>}
      </span>
      <span class="money">{format.usd(tier.price_usd_micro)}</span>
    </label>
  )
}

interface ChooseProps {
  readonly tiers: ReadonlyArray<Tier>
  readonly quota: bigint
}

const Choose = ({ tiers, quota }: ChooseProps) => {
  const texts = useTexts()
  const search = useStore($router)?.search ?? {}
  const customers = useLoaded(readCustomers, [])
  const choose = useAction(async ({ email = "", tier = "" }: Readonly<Record<string, string>>, isCurrent) => {
    const resolved = await resolveCustomer(email)
    // If the reseller has left this page, another mint can be pending. It stays pending.
    if (isCurrent()) prepareMint(resolved, tier)
  })
  if (tiers.length === 0) return <Empty title={texts.mint.noTiers}>{texts.mint.noTiersText}</Empty>
  return (
    <Form onSubmit={choose.run} class="form card">
      <Field
        label={texts.mint.customer}
        hint={texts.mint.customerHint}
        name="email"
        type="email"
        list="customers"
        autocomplete="off"
        defaultValue={search.email ?? ""}
        required
        error={choose.problem?.issueOf("email") === undefined ? undefined : texts.access.emailIssue}
      />
      <datalist id="customers">
        {customers.data?.map(({ user_id, email }) => (
          <option key={user_id} value={email} />
        ))}
      </datalist>
      <fieldset class="tiers">
        <legend>{texts.mint.tier}</legend>
        {tiers.map((tier) => (
          <TierChoice key={tier.plan_tier_id} tier={tier} quota={quota} chosen={tiers.length === 1} />
        ))}
      </fieldset>
      {choose.problem?.code === NOT_LINKED ? (
        <Notice kind="warn" title={texts.mint.notLinked}>
          {texts.mint.notLinkedText}
        </Notice>
      ) : (
        <ProblemNotice problem={choose.problem} />
      )}
      <Submit running={choose.running}>{texts.mint.review}</Submit>
    </Form>
  )
}

export const Mint = () => {
  const { mint, shell } = useTexts()
  const pending = useStore($pendingMint)
  const wanted = useStore($router)?.search.email?.toLowerCase()
  const [done, setDone] = useState<Minted>()
  const [round, setRound] = useState(0)
  const tiers = useLoaded(readTiers, [])
  const quota = useLoaded(readQuota, [round, pending?.operationId])
  // The link that opened this page can name another customer than the mint that was prepared earlier, but not sent.
  useEffect(() => {
    if (pending?.isSent === false && wanted !== undefined && wanted !== pending.email) forgetMint(pending)
  }, [])
  const finish = (minted: Minted) => {
    setDone(minted)
    setRound((count) => count + 1)
  }
  const content = () => {
    if (done !== undefined) return <MintDone minted={done} again={() => setDone(undefined)} />
    if (tiers.data === undefined) return <Loading problem={tiers.problem} retry={tiers.reload} />
    if (quota.data === undefined) return <Loading problem={quota.problem} retry={quota.reload} />
    if (pending === undefined) return <Choose tiers={tiers.data} quota={quota.data} />
    const tier = tiers.data.find(({ plan_tier_id }) => plan_tier_id === pending.tierId)
    return (
      <ConfirmMint
        key={pending.operationId}
        mint={pending}
        tier={tier}
        quota={quota.data}
        onTierChanged={tiers.reload}
        onDone={finish}
      />
    )
  }
  return (
    <Page title={shell.pages.mint} intro={mint.intro}>
      <div class="columns">
        <Steps step={done === undefined ? (pending?.operationId ?? "choice") : "done"}>{content()}</Steps>
        <MintHistory round={`${round} ${pending?.operationId}`} />
      </div>
    </Page>
  )
}
