/**
 * Indonesian: the page that opens the session of an operator.
 */
import type { operatorTexts as english } from "../en/Operator.ts"

export const operatorTexts: typeof english = {
  operator: {
    entry: "Konsol operator",
    entering: "Membuka sesi",
    entryText:
      "Jalankan perintah ini di server, lalu buka tautan yang dicetaknya. " +
      "Tautan hanya dapat dibuka sekali, dalam dua menit.",
    command: "perintah"
  }
}
