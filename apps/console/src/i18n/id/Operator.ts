/**
 * Indonesian: the pages of an operator.
 */
import type { operatorTexts as english } from "../en/Operator.ts"

export const operatorTexts: typeof english = {
  operator: {
    entry: "Konsol operator",
    entering: "Membuka sesi",
    entryText:
      "Jalankan perintah ini di server, lalu buka tautan yang dicetaknya. Tautan berlaku sekali, selama dua menit.",
    command: "perintah",
    intro: "Hal-hal yang memerlukan keputusan. Yang lain ada di baris perintah.",
    nothing: "Tidak ada yang menunggu.",
    resellers: "Reseller yang menunggu peninjauan",
    moves: {
      approve: {
        confirm: "Setujui",
        question: (name) => `Setujui “${name}”?`,
        text: "Reseller langsung dapat masuk dan membeli kuota."
      },
      reject: {
        confirm: "Tolak",
        question: (name) => `Tolak “${name}”?`,
        text: "Reseller tidak dapat masuk. Anda dapat menyetujuinya nanti."
      }
    },
    topUps: "Pengisian yang tidak wajar",
    images: "Permintaan gambar yang belum ditagih",
    waive: "Bebaskan",
    waiveQuestion: "Bebaskan biaya gambar ini?",
    waiveText: (email) => `${email} tidak membayar gambar ini. Ini tidak dapat dibatalkan.`
  }
}
