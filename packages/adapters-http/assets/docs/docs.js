/**
 * Adds the parts of the documentation page that need JavaScript: the URL of this server in the examples, buttons that
 * copy, tabs, the filter of the contents, and forms that send a request. Without JavaScript the page shows all texts
 * and examples.
 *
 * Credentials are only in the input fields of this page. They are not stored.
 */
{
  const BASE_URL = "http://127.0.0.1:8080"
  const MAX_SHOWN = 100_000

  /**
   * @template {keyof HTMLElementTagNameMap} Tag
   * @param {Tag} tag
   * @param {Record<string, string>} attributes
   * @param {ReadonlyArray<Node | string>} children
   */
  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag)
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
    made.append(...children)
    return made
  }

  const button = (/** @type {string} */ label, /** @type {() => void} */ onClick) => {
    const made = element("button", { type: "button" }, label)
    made.addEventListener("click", onClick)
    return made
  }

  for (const part of document.querySelectorAll("pre code, [data-url]")) {
    part.textContent = (part.textContent ?? "").replaceAll(BASE_URL, location.origin)
  }

  for (const box of document.querySelectorAll(".code")) {
    if (navigator.clipboard === undefined) break
    const copy = button("Copy", () => {
      void navigator.clipboard.writeText(box.querySelector("code")?.textContent ?? "").then(() => {
        copy.textContent = "Copied"
        setTimeout(() => {
          copy.textContent = "Copy"
        }, 2_000)
      })
    })
    box.append(copy)
  }

  for (const tabs of document.querySelectorAll("[data-tabs]")) {
    const panels = /** @type {Array<HTMLElement>} */ ([...tabs.children])
    const list = element("div", { role: "tablist", "aria-label": "Examples" })
    const all = panels.map((panel, i) => {
      panel.id = `tab-panel-${i}`
      panel.setAttribute("role", "tabpanel")
      const tab = button(panel.dataset.tab ?? "", () => select(i))
      tab.id = `tab-${i}`
      tab.setAttribute("role", "tab")
      tab.setAttribute("aria-controls", panel.id)
      panel.setAttribute("aria-labelledby", tab.id)
      return tab
    })
    const select = (/** @type {number} */ chosen) => {
      for (const [i, panel] of panels.entries()) {
        panel.hidden = i !== chosen
        all[i]?.setAttribute("aria-selected", String(i === chosen))
        all[i]?.setAttribute("tabindex", i === chosen ? "0" : "-1")
      }
    }
    list.addEventListener("keydown", (event) => {
      const now = all.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement))
      const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0
      if (step === 0 || now < 0) return
      const next = (now + step + all.length) % all.length
      select(next)
      all[next]?.focus()
    })
    list.append(...all)
    tabs.prepend(list)
    select(0)
  }

  const filter = document.querySelector("#filter")
  if (filter instanceof HTMLInputElement) {
    filter.hidden = false
    filter.addEventListener("input", () => {
      const words = filter.value.toLowerCase().split(/\s+/)
      for (const group of document.querySelectorAll(".contents .group")) {
        const items = /** @type {Array<HTMLElement>} */ ([...group.querySelectorAll("li")])
        for (const item of items) item.hidden = !words.every((word) => item.dataset.words?.includes(word))
        group.toggleAttribute(
          "hidden",
          items.every((item) => item.hidden)
        )
      }
    })
  }

  const links = new Map(
    [...document.querySelectorAll(".contents a")].map((link) => [link.getAttribute("href")?.slice(1) ?? "", link])
  )
  const current = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue
        for (const link of links.values()) link.removeAttribute("aria-current")
        links.get(target.id)?.setAttribute("aria-current", "true")
      }
    },
    { rootMargin: "0px 0px -80% 0px" }
  )
  for (const id of links.keys()) {
    const section = document.getElementById(id)
    if (section !== null) current.observe(section)
  }

  /** @type {Record<string, { label: string, input: HTMLInputElement }>} */
  const keys = {
    apiKey: {
      label: "API key",
      input: element("input", { type: "password", autocomplete: "off", spellcheck: "false" })
    },
    resellerToken: {
      label: "Reseller token",
      input: element("input", { type: "password", autocomplete: "off", spellcheck: "false" })
    }
  }
  const box = document.querySelector("#keys")
  box?.removeAttribute("hidden")
  box?.append(
    element("p", {}, "To send requests from this page, paste a credential. The page does not store it."),
    ...Object.values(keys).map(({ label, input }) => element("label", {}, label, input))
  )

  /** Adds the form that sends a request of one operation. @param {HTMLElement} place */
  const addForm = (place) => {
    const { method = "", path = "", scheme = "", query = "", type = "", body = "" } = place.dataset
    if (type !== "" && type !== "application/json") return
    if (scheme !== "" && keys[scheme] === undefined) return
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name)
    const field = (/** @type {string} */ name) => element("input", { autocomplete: "off", spellcheck: "false", name })
    const inPath = new Map(names.map((name) => [name, field(name)]))
    const inQuery = new Map(
      query
        .split(" ")
        .filter((name) => name !== "")
        .map((name) => [name, field(name)])
    )
    const text = element("textarea", { spellcheck: "false" })
    text.value = body
    const status = element("p", { role: "status", class: "sample-title" })
    const output = element("pre", { tabindex: "0" }, element("code"))
    const shown = element("div", { class: "code", hidden: "" }, output)
    const form = element(
      "form",
      {},
      ...[...inPath, ...inQuery].map(([name, input]) => element("label", {}, name, input)),
      ...(body === "" ? [] : [element("label", {}, "Body", text)]),
      element("p", {}, element("button", { type: "submit" }, "Send")),
      status,
      shown
    )
    form.addEventListener("submit", (event) => {
      event.preventDefault()
      const target = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(inPath.get(name)?.value ?? ""))
      const search = new URLSearchParams()
      for (const [name, { value }] of inQuery) if (value !== "") search.set(name, value)
      const credential = keys[scheme]?.input.value ?? ""
      void send(target + (search.size === 0 ? "" : `?${search}`), {
        method,
        headers: {
          ...(credential === "" ? {} : { authorization: `Bearer ${credential}` }),
          ...(body === "" ? {} : { "content-type": "application/json" })
        },
        ...(body === "" ? {} : { body: text.value })
      })
    })

    const send = async (/** @type {string} */ target, /** @type {RequestInit} */ request) => {
      const code = /** @type {HTMLElement} */ (output.firstElementChild)
      shown.hidden = false
      code.textContent = ""
      status.textContent = "Waiting for the response"
      try {
        const response = await fetch(target, request)
        status.textContent = `Status ${response.status}`
        const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
        for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read()) {
          code.textContent = ((code.textContent ?? "") + part.value).slice(0, MAX_SHOWN)
        }
        if (response.headers.get("content-type")?.startsWith("application/json")) {
          code.textContent = JSON.stringify(JSON.parse(code.textContent ?? ""), null, 2)
        }
      } catch {
        status.textContent = "The request failed."
      }
    }

    place.append(element("details", {}, element("summary", {}, "Send this request"), form))
  }
  for (const place of document.querySelectorAll(".try")) addForm(/** @type {HTMLElement} */ (place))
}
