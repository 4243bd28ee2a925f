/**
 * The head of a page. A new page sets the title of the document. If it is not the first page, it also moves the focus
 * to its heading, so that a screen reader announces the page.
 */
import type { ComponentChildren } from "preact"
import { useEffect, useRef } from "preact/hooks"

/** The name of the service, which the gateway writes into the page. */
export const serviceName = document.querySelector<HTMLMetaElement>('meta[name="application-name"]')?.content ?? ""

let isFirstPage = true

interface PageProps {
  readonly title: string
  /** The text below the heading. */
  readonly intro?: string | undefined
  readonly back?: { readonly path: string; readonly text: string }
  readonly actions?: ComponentChildren
  readonly narrow?: boolean
  readonly children: ComponentChildren
}

export const Page = ({ title, intro, back, actions, narrow = false, children }: PageProps) => {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · ${serviceName}`
  }, [title])
  useEffect(() => {
    if (!isFirstPage) heading.current?.focus({ preventScroll: true })
    isFirstPage = false
    scrollTo(0, 0)
  }, [])
  return (
    <div class={narrow ? "page narrow" : "page"}>
      {back !== undefined && (
        <a class="back" href={back.path}>
          <span aria-hidden="true">{"\u2190 "}</span>
          {back.text}
        </a>
      )}
      <div class="page-head">
        <div>
          <h1 ref={heading} tabIndex={-1} dir="auto">
            {title}
          </h1>
          {intro !== undefined && <p class="intro">{intro}</p>}
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </div>
      {children}
    </div>
  )
}

interface CardProps {
  readonly title: string
  readonly aside?: ComponentChildren
  readonly children: ComponentChildren
}

export const Card = ({ title, aside, children }: CardProps) => (
  <section class="card">
    <div class="card-head">
      <h2>{title}</h2>
      {aside}
    </div>
    {children}
  </section>
)
