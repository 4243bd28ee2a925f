/**
 * The icons of the console, and the logo of the header. Each icon and the logo stand beside a text, so `aria-hidden`
 * hides these drawings from screen readers.
 */
const home = "M3 11l9-7 9 7v9a1 1 0 0 1-1 1h-5v-6h-6v6H4a1 1 0 0 1-1-1z"
const people =
  "M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM2 21v-1a6 6 0 0 1 6-6h2a6 6 0 0 1 6 6v1M16 3.5a4 4 0 0 1 0 7.5M18.5 14.5A6 6 0 0 1 22 20v1"
const wallet = "M3 7h16a2 2 0 0 1 2 2v9a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V6a2 2 0 0 1 2-2h12M16.5 13.5h.01"

const outlines = {
  home,
  mint: "M12 3v18M3 12h18",
  customers: people,
  topUps: wallet,
  usage: "M4 20V11M10 20V4M16 20v-6M22 20H2",
  account: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21a8 8 0 0 1 16 0",
  balance: wallet,
  operatorHome: home,
  operatorResellers: "M4 10v10h16V10M2 10l2-6h16l2 6M2 10h20M9 20v-6h6v6",
  operatorCustomers: people,
  operatorTopUps: wallet,
  operatorService: "M4 5h16v5H4zM4 14h16v5H4zM7.5 7.5h.01M7.5 16.5h.01",
  clients: "M5 6l6 6-6 6M13 18h7"
} as const

export type IconName = keyof typeof outlines

export const Icon = ({ name }: { readonly name: IconName }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={outlines[name]} />
  </svg>
)

export const Mark = () => (
  <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
    <rect class="post" x="3" y="9" width="6" height="20" rx="1.5" />
    <rect class="arm" x="9" y="12" width="20" height="5" rx="1.5" />
    <path class="stripe" d="m13 12 3 0-2 5-3 0zM20 12l3 0-2 5-3 0zM27 12l2 0 0 3-1 2-3 0z" />
  </svg>
)
