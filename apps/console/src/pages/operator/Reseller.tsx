/**
 * One reseller: its status, its quota with the movements, its customers' keys, and the changes that an operator makes.
 */
import { useState } from "preact/hooks"
import { api, bodyOf } from "../../api/Client.ts"
import { useLoaded } from "../../api/Loaded.ts"
import { pageQuery } from "../../api/Operator.ts"
import { useFormat } from "../../format/Format.ts"
import { useTexts } from "../../i18n/Language.ts"
import { useOperatorTexts } from "../../i18n/OperatorTexts.ts"
import { type PageProps, pathOf } from "../../routes/Routes.ts"
import { Facts } from "../../ui/Facts.tsx"
import { Field, Form } from "../../ui/Forms.tsx"
import { Notice } from "../../ui/Notices.tsx"
import { Card, Page } from "../../ui/Page.tsx"
import { usePages } from "../../ui/Pages.tsx"
import { RowList } from "../../ui/RowList.tsx"
import { BookingForm } from "./BookingForm.tsx"
import { useDecision } from "./Decision.tsx"
import { KeysCard } from "./KeysCard.tsx"
import { LoadingPage } from "./LoadingPage.tsx"
import { OperatorProblem } from "./Problems.tsx"
import { movesOf, useReview } from "./ResellerReview.ts"
import { ResellerBadge } from "./Resellers.tsx"

interface PartProps {
  readonly id: string
  readonly round: number
}

const Movements = ({ id, round }: PartProps) => {
  const { resellers: texts } = useOperatorTexts()
  const format = useFormat()
  const movements = usePages(
    (cursor) =>
      bodyOf(
        api.GET("/api/operator/resellers/{reseller}/movements", {
          params: { path: { reseller: id }, query: pageQuery({}, cursor) }
        })
      ),
    [id, round]
  )
  return (
    <Card title={texts.movements}>
      <RowList
        pages={movements}
        none={texts.noMovements}
        hint={texts.noMovementsText}
        row={(movement, i) => (
          // A movement has no id. Its index is a stable key, because the list only grows at its end.
          <li class="row" key={i}>
            <span class="row-main">
              <span>{texts.kinds[movement.kind]}</span>
              <small>
                {movement.reference !== null && (
                  <>
                    <span dir="auto">{movement.reference}</span>
                    <br />
                  </>
                )}
                {format.time(movement.at)}
              </small>
            </span>
            <span class="money">{format.usd(movement.change_usd_micro)}</span>
          </li>
        )}
      />
    </Card>
  )
}

const LinkCustomer = ({ id }: { readonly id: string }) => {
  const { customers, resellers: texts } = useOperatorTexts()
  const [email, setEmail] = useState("")
  const [linked, setLinked] = useState<string>()
  const { ask, dialog } = useDecision(() => {
    setLinked(email)
    setEmail((typed) => (typed === email ? "" : typed))
  })
  const submit = () => {
    setLinked(undefined)
    ask({
      title: texts.linkQuestion(email),
      text: texts.linkText,
      confirm: texts.link,
      reason: "optional",
      send: (reason) => {
        const body = reason === undefined ? { email } : { email, reason }
        return bodyOf(
          api.POST("/api/operator/resellers/{reseller}/customers", { params: { path: { reseller: id } }, body })
        )
      }
    })
  }
  return (
    <Card title={texts.link}>
      <Form onSubmit={submit}>
        <Field
          label={customers.email}
          hint={texts.linkText}
          name="email"
          type="email"
          required
          autocomplete="off"
          value={email}
          onInput={setEmail}
        />
        {linked !== undefined && <Notice kind="good">{texts.linked(linked)}</Notice>}
        <p class="actions">
          <button type="submit" class="button">
            {texts.link}
          </button>
        </p>
      </Form>
      {dialog}
    </Card>
  )
}

export const Reseller = ({ id }: PageProps) => {
  const { shell } = useTexts()
  const { booking, resellers: texts } = useOperatorTexts()
  const format = useFormat()
  const [round, setRound] = useState(0)
  const again = () => setRound((count) => count + 1)
  const path = { reseller: id }
  const reseller = useLoaded(
    (signal) => bodyOf(api.GET("/api/operator/resellers/{reseller}", { params: { path }, signal })),
    [id, round]
  )
  const { ask, dialog } = useDecision(again)
  const review = useReview()
  const back = { path: pathOf("operatorResellers"), text: shell.pages.operatorResellers }
  const { data } = reseller
  if (data === undefined) return <LoadingPage title={texts.one} back={back} loaded={reseller} />
  return (
    <Page title={data.name} back={back}>
      <OperatorProblem problem={reseller.problem} retry={reseller.reload} />
      <div class="columns">
        <Card title={texts.details} aside={<ResellerBadge status={data.status} />}>
          <Facts
            facts={[
              [texts.email, data.email],
              [texts.number, data.wa_number],
              [texts.since, format.time(data.created_at)],
              [texts.quota, <strong class="money">{format.usd(data.balance_usd_micro)}</strong>]
            ]}
          />
          <p class="actions">
            {movesOf[data.status].map((move) => (
              <button key={move} type="button" class="button" onClick={() => ask(review(id, data.name, move))}>
                {texts.moves[move].confirm}
              </button>
            ))}
            <a class="button" href={`${pathOf("operatorTopUps")}?reseller=${id}`}>
              {texts.orders}
            </a>
          </p>
        </Card>
        <BookingForm
          title={booking.adjust}
          account={`quota ${id}`}
          balanceUsdMicro={data.balance_usd_micro}
          canDeduct
          book={async (body) => {
            const done = await bodyOf(
              api.POST("/api/operator/resellers/{reseller}/quota", { params: { path }, body: { ...body } })
            )
            return { balanceUsdMicro: done.balance_usd_micro, wasBooked: done.already_applied }
          }}
          onBooked={again}
        />
      </div>
      <Movements id={id} round={round} />
      <div class="columns">
        <KeysCard
          title={texts.keys}
          owner={id}
          read={(query) => bodyOf(api.GET("/api/operator/resellers/{reseller}/keys", { params: { path, query } }))}
        />
        <LinkCustomer id={id} />
      </div>
      {dialog}
    </Page>
  )
}
