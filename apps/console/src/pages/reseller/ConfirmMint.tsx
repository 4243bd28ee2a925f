/**
 * The second and the third step of a mint: the confirmation and the result. The confirmation shows the quota after the
 * mint until the request is sent.
 *
 * A mint is shown as done only after the gateway has confirmed it. If the response is lost or has a status from 500 on,
 * the page states that the result is unknown, until a response to a repeat proves the result. A repeat uses the same
 * operation id.
 *
 * A mint request does not contain the price. The page therefore reads the tier again right before each request, and
 * sends none if the tier has changed since the page showed it.
 */
import { useState } from "preact/hooks"
import { api, bodyOf } from "../../api/Client.ts"
import { useAction } from "../../api/Loaded.ts"
import { mayBeExecuted } from "../../api/OperationResult.ts"
import { readTiers, type Tier } from "../../api/Reseller.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { customerPath, pathOf } from "../../routes/Routes.ts"
import { forgetMint, markSent, type PendingMint } from "../../state/PendingMint.ts"
import { Notice, ProblemNotice } from "../../ui/Notices.tsx"

export interface Minted {
  readonly email: string
  readonly userId: string
  readonly model: string
  readonly tokens: number
  readonly priceUsdMicro: string
  readonly balanceAfter: string
}

interface ConfirmProps {
  readonly mint: PendingMint
  /** Undefined if the tier is not for sale. */
  readonly tier: Tier | undefined
  readonly quota: bigint
  readonly onTierChanged: () => void
  readonly onDone: (minted: Minted) => void
}

const haveSameTerms = (shown: Tier | undefined, stored: Tier | undefined): boolean =>
  shown?.price_usd_micro === stored?.price_usd_micro && shown?.granted_tokens === stored?.granted_tokens

export const ConfirmMint = ({ mint, tier, quota, onTierChanged, onDone }: ConfirmProps) => {
  const { mint: texts, common } = useTexts()
  const format = useFormat()
  const [hasChanged, setChanged] = useState(false)
  const send = useAction(async (_: undefined, isCurrent) => {
    setChanged(false)
    const stored = (await readTiers()).find(({ plan_tier_id }) => plan_tier_id === mint.tierId)
    if (!isCurrent()) return
    if (!haveSameTerms(tier, stored)) {
      setChanged(true)
      onTierChanged()
      return
    }
    markSent(mint, true)
    const body = { operation_id: mint.operationId, customer_email: mint.email, plan_tier_id: mint.tierId }
    const result = await bodyOf(api.POST("/api/reseller/mint", { body })).catch((error: unknown) => {
      // If the reseller has left this page, another request with the same id can have been sent.
      markSent(mint, mayBeExecuted(error, mint.isSent || !isCurrent()))
      throw error
    })
    forgetMint(mint)
    onDone({
      email: mint.email,
      userId: result.customer_user_id,
      model: tier?.model_name ?? "",
      tokens: result.granted_tokens,
      priceUsdMicro: result.price_usd_micro,
      balanceAfter: result.balance_after
    })
  })
  const price = tier === undefined ? undefined : BigInt(tier.price_usd_micro)
  const isShort = price !== undefined && quota < price && !mint.isSent
  const isUnknown = mint.isSent && !send.running
  return (
    <section class="card stack" aria-label={texts.confirm}>
      <h2>{texts.confirm}</h2>
      {isUnknown && (
        <Notice kind="warn" title={texts.unknown}>
          {texts.unknownText}
        </Notice>
      )}
      <dl class="summary">
        <dt>{texts.customer}</dt>
        <dd dir="auto">{mint.email}</dd>
        <dt>{texts.tier}</dt>
        <dd>
          {tier === undefined
            ? texts.tierGone
            : `${tier.model_name} · ${texts.tokens(format.count(tier.granted_tokens))}`}
        </dd>
        {price !== undefined && (
          <>
            <dt>{texts.price}</dt>
            <dd class="money">{format.usd(price)}</dd>
          </>
        )}
        {price !== undefined && !mint.isSent && (
          <>
            <dt>{texts.quotaNow}</dt>
            <dd class="money">{format.usd(quota)}</dd>
            <dt>{texts.quotaAfter}</dt>
            <dd class="money strong">{format.usd(quota - price)}</dd>
          </>
        )}
      </dl>
      {isShort && tier !== undefined && (
        <Notice kind="warn" title={texts.short}>
          <a class="button" href={`${pathOf("newTopUp")}?amount=${tier.topup_idr_required}`}>
            {texts.topUp}
          </a>
        </Notice>
      )}
      {hasChanged && (
        <Notice kind="warn" title={texts.tierChanged}>
          {texts.tierChangedText}
        </Notice>
      )}
      {!(mint.isSent && send.problem?.isUnknown) && <ProblemNotice problem={send.problem} />}
      <p class="actions">
        <button
          type="button"
          class="button primary"
          aria-disabled={send.running}
          disabled={isShort}
          onClick={() => send.run(undefined)}
        >
          {send.running ? common.sending : mint.isSent ? texts.sendAgain : texts.mintNow}
        </button>
        {!send.running && (
          <button type="button" class="button" onClick={() => forgetMint(mint)}>
            {mint.isSent ? texts.discard : common.back}
          </button>
        )}
      </p>
    </section>
  )
}

export const MintDone = ({ minted, again }: { readonly minted: Minted; readonly again: () => void }) => {
  const { mint: texts } = useTexts()
  const format = useFormat()
  return (
    <section class="card stack" aria-label={texts.done}>
      <Notice kind="good" title={texts.done}>
        {texts.doneText(format.count(minted.tokens), minted.email)}
      </Notice>
      <dl class="summary">
        <dt>{texts.price}</dt>
        <dd class="money">{format.usd(minted.priceUsdMicro)}</dd>
        <dt>{texts.quotaAfter}</dt>
        <dd class="money strong">{format.usd(minted.balanceAfter)}</dd>
      </dl>
      <p class="actions">
        <a class="button primary" href={customerPath(minted.userId)}>
          {texts.toCustomer}
        </a>
        <button type="button" class="button" onClick={again}>
          {texts.another}
        </button>
      </p>
    </section>
  )
}
