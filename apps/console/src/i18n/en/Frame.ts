/**
 * English: the frame of every page, common words, and problems.
 */
import { plural } from "./Plural.ts"

export const frameTexts = {
  shell: {
    navigation: "Pages",
    more: "More pages",
    skip: "Skip to the content",
    logIn: "Log in",
    leave: "Leave",
    notEnded:
      "The service did not confirm the end of the session, so the session may still be open. Try again. Without a request, it ends after 30 minutes.",
    forgetKey: "Forget the key",
    about: "About",
    documentation: "Documentation",
    rankings: "Rankings",
    language: "Language",
    languages: { id: "Bahasa Indonesia", en: "English" },
    theme: "Theme",
    themes: { system: "Theme of the device", light: "Light", dark: "Dark" },
    pages: {
      home: "Home",
      mint: "Mint",
      customers: "Customers",
      topUps: "Top-ups",
      usage: "Usage",
      account: "Account",
      balance: "Balance",
      operatorHome: "Home",
      operatorResellers: "Resellers",
      operatorCustomers: "Customers",
      operatorTopUps: "Top-ups",
      operatorService: "Service",
      clients: "Set up"
    },
    unknownPage: "There is no such page",
    unknownPageHint: "The address is wrong, or the page has moved.",
    toStart: "To the start page",
    newVersion: "A part of the console could not be loaded. Perhaps the console was updated.",
    reload: "Reload the page"
  },
  common: {
    loading: "Loading",
    sending: "Sending…",
    tryAgain: "Try again",
    back: "Back",
    cancel: "Cancel",
    copy: "Copy",
    copied: "Copied",
    more: "Show more",
    newer: "Newer",
    older: "Older",
    csv: "CSV",
    downloadCsv: "Download as CSV"
  },
  problems: {
    unknown: "The request failed.",
    requestId: "State this request id when you report the problem:",
    waitSeconds: (seconds: number) =>
      `Too many attempts. Try again in ${plural(String(seconds), "second", "seconds")}.`,
    invalidFields: (fields: string) => `The service does not accept this input: ${fields}.`,
    byCode: {
      no_response: "The service did not respond. Check your connection and try again.",
      invalid_credentials: "The email or the password is wrong.",
      invalid_api_key: "This API key is wrong, expired or revoked.",
      invalid_code: "This link is not valid. Create a new link.",
      operator_console_off: "The operator console is off. Set OPERATOR_CONSOLE=on to turn it on.",
      email_exists: "There is an account with this email. Log in instead.",
      email_blacklisted: "This email cannot sign up. Use another email, or ask the operator.",
      rate_limited: "Too many attempts. Try again in a minute.",
      insufficient_quota: "Your quota does not cover this mint. Top up first.",
      idempotency_conflict: "This request conflicts with an earlier request. Start again.",
      tier_not_available:
        "This plan is not for sale, or the customer's plan cannot hold its tokens. Choose another plan.",
      topup_not_found: "There is no such order.",
      not_found: "There is no such entry.",
      provider_unavailable: "This payment method is not available at the moment. Try later, or use another method.",
      overloaded: "The service is busy. Try again in a moment.",
      reseller_not_active: "This account is not active. Contact the operator.",
      amount_out_of_range: "The payment method does not accept this amount.",
      validation_error: "The service does not accept this input. Check it and try again.",
      invalid_request: "The service does not accept this input. Check it and try again.",
      request_too_large: "The input is too long. Shorten it.",
      request_timeout: "The request took too long. Check your connection and try again.",
      method_not_allowed: "The console and the service have different versions. Reload the page.",
      internal_error: "The service had an internal error. Try again."
    }
  }
}
