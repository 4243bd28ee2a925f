/**
 * Indonesian: usage, balances, and the settings of client programs.
 */
import type { usageTexts as english } from "../en/Usage.ts"

export const usageTexts: typeof english = {
  usage: {
    intro: "Permintaan pelanggan Anda yang biayanya sudah dibukukan. Hari menurut WIB (UTC+7).",
    from: "Dari",
    to: "Sampai",
    model: "Model",
    allModels: "Semua model",
    customer: "Pelanggan",
    allCustomers: "Semua pelanggan",
    perDay: "Token per hari",
    lastDays: (days) => `Pemakaian ${days} hari terakhir`,
    items: "Permintaan",
    none: "Tidak ada pemakaian pada hari yang dipilih",
    noneText: "Pilih hari atau filter lain.",
    asTable: "Sebagai tabel",
    day: "Hari",
    requests: "Permintaan",
    tokens: "Token",
    cost: "Biaya",
    tokensOf: (count) => `${count} token`
  },
  balance: {
    title: "Paket dan saldo",
    noPlans: "Belum ada paket token",
    askReseller: "Beli paket dari reseller Anda.",
    ofTokens: (purchased) => `dari ${purchased} token tersisa`,
    remaining: (model) => `Sisa token untuk ${model}, dalam persen`,
    status: { active: "Aktif", exhausted: "Habis" },
    payg: "Saldo bayar sesuai pemakaian",
    asOf: (time) => `Per ${time}`
  },
  clients: {
    title: "Pengaturan program",
    intro: "Salin pengaturan untuk program Anda. Pengaturan ini memuat kunci Anda.",
    program: "Program",
    model: "Model",
    names: {
      curl: "curl",
      openai: "OpenAI SDK",
      anthropic: "Anthropic SDK",
      claudeCode: "Claude Code",
      codex: "Codex",
      opencode: "opencode"
    },
    inShell: "Jalankan di terminal:",
    inFile: (file) => `Simpan di ${file}:`,
    secret: "Jangan berikan kunci Anda ke orang lain: program dengan kunci ini memakai saldo Anda.",
    firstRequest: "Pemakaian tampil di sini setelah permintaan pertama Anda."
  }
}
