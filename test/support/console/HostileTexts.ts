/**
 * Texts that run a script in a page, or break its layout, if the page does not show them as plain text.
 */
export const MARKUP = `<img src="/stolen" onerror="document.title='taken over'">`
export const RIGHT_TO_LEFT = "\u202Ereversed متجر"
export const EMOJI = "\u{1F6A7}".repeat(200)
/** An email address with special characters, which the gateway accepts. */
export const EMAIL = "متجر'&amp`🚧`@pages.example"
