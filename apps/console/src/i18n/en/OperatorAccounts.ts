/**
 * English: the pages of an operator about resellers, customers, keys and top-ups.
 */
export const operatorAccountTexts = {
  decision: {
    reason: "Reason",
    reasonHint: "For the audit log, in one line.",
    optionalReasonHint: "For the audit log. You can leave it empty.",
    reasonMissing: "Give a reason."
  },
  problems: {
    insufficient_quota: "The quota is smaller than the amount to deduct. Nothing was changed.",
    insufficient_balance: "The pay-as-you-go balance does not cover the amount. Nothing was charged.",
    amount_out_of_range:
      "All credits of this customer together would exceed their maximum. Nothing was changed. Credit a smaller amount.",
    operation_conflict: "This operation id was used for another change. Start again.",
    reseller_not_found: "There is no such reseller.",
    user_not_found: "There is no customer with this email.",
    user_exists: "A customer with this email exists already.",
    key_not_found: "There is no such key.",
    review_refused: "The status of the reseller does not allow this decision. Load the page again.",
    review_resolved: "This review is already resolved.",
    pattern_not_listed: "The blacklist does not contain this entry.",
    review_not_found: "This request is not in the review queue. Load the page again.",
    session_not_found: "There is no such session.",
    invalid_session: "Your session has ended. Open a new one with: tollgate console"
  },
  filters: {
    search: "Search",
    status: "Status",
    all: "All",
    apply: "Search"
  },
  resellers: {
    list: "Resellers",
    searchHint: "A part of the name or email.",
    statuses: { pending: "Waits for review", active: "Active", suspended: "Suspended", rejected: "Rejected" },
    none: "No reseller found",
    noneText: "Resellers sign up by themselves. Send them the address of this service.",
    one: "Reseller",
    details: "Details",
    email: "Email",
    number: "WhatsApp",
    since: "Signed up",
    review: "Decision",
    moves: {
      approve: {
        confirm: "Approve",
        question: (name: string) => `Approve “${name}”?`,
        text: "The reseller can log in and buy quota immediately."
      },
      reject: {
        confirm: "Reject",
        question: (name: string) => `Reject “${name}”?`,
        text: "The reseller cannot log in. You can approve it later."
      },
      suspend: {
        confirm: "Suspend",
        question: (name: string) => `Suspend “${name}”?`,
        text: "The reseller is logged out immediately and cannot log in. The keys of its customers still work."
      },
      reactivate: {
        confirm: "Reactivate",
        question: (name: string) => `Reactivate “${name}”?`,
        text: "The reseller can log in again."
      }
    },
    quota: "Quota",
    movements: "Movements of the quota",
    noMovements: "No movements yet",
    noMovementsText: "A top-up or an adjustment adds the first quota.",
    kinds: { topup: "Top-up", mint: "Mint", adjustment: "Adjustment" },
    orders: "Top-ups of this reseller",
    keys: "Keys of its customers",
    link: "Link a customer",
    linkText: "The reseller can then create keys that spend the balances of this customer.",
    linkQuestion: (email: string) => `Make ${email} a customer of this reseller?`,
    linked: (email: string) => `${email} is a customer of this reseller.`
  },
  booking: {
    adjust: "Adjust the quota",
    credit: "Credit the balance",
    direction: "Change",
    add: "Add",
    deduct: "Deduct",
    amount: "Amount in US dollars",
    amountIssue: "Enter an amount above 0, with at most six decimals, such as 2.5 or 1,250.50.",
    review: "Continue",
    confirm: "Confirm the change",
    before: "Balance now",
    change: "Change",
    after: "Balance afterwards",
    book: "Book now",
    sendAgain: "Send again",
    discard: "Discard",
    unknown: "The result is unknown",
    unknownText:
      "The service did not confirm the change, so it is unknown whether the change was booked. Send it again: the same change is never booked twice. “Discard” does not cancel the change: check the balance before you book it again.",
    done: "Booked",
    doneBefore: "This change was booked before. It was not booked again.",
    balance: "Balance",
    another: "Another change"
  },
  blacklist: {
    title: "Blacklist",
    intro: "Emails and domains that cannot sign up as resellers. Existing resellers are not affected.",
    list: "Entries",
    none: "The blacklist is empty",
    noneText: "Add an email, or @ and a domain.",
    pattern: "Email or domain",
    patternHint: "Such as bad@example.com or @example.com.",
    patternIssue: "Enter an email, or @ and a domain.",
    add: "Add",
    added: (time: string) => `Added ${time}`,
    remove: "Remove",
    removeQuestion: (pattern: string) => `Remove ${pattern} from the blacklist?`,
    removeText: "Resellers with this email or domain can sign up again."
  },
  customers: {
    list: "Customers",
    searchHint: "A part of the email.",
    statuses: { active: "Active", blocked: "Blocked" },
    none: "No customer found",
    noneText: "A reseller creates its customers, or you create one here.",
    create: "Create a customer",
    email: "Email",
    emailIssue: "Enter an email.",
    keys: (count: string) => `Active keys: ${count}`,
    of: (resellers: string) => `Customer of ${resellers}`,
    one: "Customer",
    balances: "Plans and balance",
    noPlansText: "A reseller mints plans. A credit adds to the pay-as-you-go balance.",
    noUsageText: "The usage appears here after the first request."
  },
  keys: {
    title: "API keys",
    none: "No keys",
    noneText: "A reseller creates keys in its console. An operator creates keys with the command line.",
    limited: "Limited",
    one: "API key",
    details: "Key",
    name: "Name",
    id: "Key id",
    customer: "Customer",
    used: "Usage of the limits",
    today: "Spent today",
    month: "Spent this month",
    total: "Spent in total",
    held: "Set aside by open requests",
    available: "Available",
    open: "Open requests",
    requests: "Requests in the current 60-second window",
    tokens: "Tokens in the current 60-second window",
    notCounted: "Usage is counted only for keys with a budget, a rate limit or a limit of concurrent requests.",
    set: "Set the limits",
    setQuestion: (name: string) => `Set these limits for “${name}”?`,
    setText: "These limits replace all limits of the key, and apply to new requests.",
    saved: "The limits are set.",
    changedMeanwhile:
      "The stored limits have changed since the page was loaded, so they were not replaced. Check the limits, then enter your change again."
  },
  topUps: {
    list: "Top-ups",
    flagged: "Anomaly",
    onlyFlagged: "Only with an anomaly",
    statuses: { pending: "Pending", crediting: "Paid", credited: "Credited", expired: "Expired", failed: "Failed" },
    ofReseller: "Reseller",
    ofResellerHint: "The id or email of a reseller. Leave it empty for all resellers.",
    none: "No order found",
    noneText: "Choose another filter. A reseller creates orders in its console.",
    refreshAll: "Refresh all open orders",
    refreshAllText:
      "Reads the payments of all open orders and of the other orders that are due, and credits the paid orders. This can take minutes.",
    refreshed: (refreshed: string, attempted: string) => `Orders read: ${refreshed} of ${attempted}.`,
    credited: (count: string) => `Orders credited: ${count}.`,
    withoutProvider: (count: string) => `Open orders without a configured payment provider: ${count}.`,
    refresh: "Refresh",
    refreshText: "Reads the payment from the payment provider, and credits a paid order.",
    refreshDone: "The payment was read.",
    refreshFailed: "The payment could not be read from the payment provider. The order is shown as it is stored.",
    reseller: "Reseller",
    status: "Status",
    simulated: "Simulated: no real money",
    received: "Received",
    excess: "Excess, not credited",
    paymentId: "Payment id",
    transactions: "Transactions",
    remarks: "Remarks",
    payTo: "Pay to",
    refreshedAt: "Last read"
  },
  images: {
    title: "Image reviews",
    intro: "Image requests that were not charged. Decide whether the customer pays.",
    state: "Show",
    states: { waiting: "Only waiting", all: "All" },
    none: "No image waits for a decision",
    reasons: {
      unmetered: "The provider reported no usage",
      withheld: "Too large to deliver",
      timeout: "Not ready in time",
      abandoned: "The client disconnected, or the node died"
    },
    resolutions: { waived: "Waived", charged: "Charged" },
    waive: "Waive",
    waiveQuestion: "Waive the charge of this image?",
    waiveText: (email: string) => `${email} pays nothing for the image. This cannot be undone.`,
    charge: "Charge",
    chargeQuestion: "Charge this image?",
    chargeText: (email: string) => `${email} pays the amount from the pay-as-you-go balance. This cannot be undone.`
  }
}
