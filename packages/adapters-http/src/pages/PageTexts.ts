/**
 * The texts of the pages at `/` and of the error pages, in both languages.
 */
import type { Language } from "./Visitor.ts"

const en = {
  skip: "Skip to the content",
  console: "Console",
  documentation: "Documentation",
  rankings: "Rankings",
  otherLanguage: "Bahasa Indonesia",
  title: "One API for many AI models",
  lead: "Use the OpenAI or Anthropic program that you already have. Change the base URL and the model name. If a stream breaks off, you pay only for the prompt and the output that reached you.",
  signUp: "Become a reseller",
  balance: "I have an API key",
  reasonsTitle: "Why people use it",
  reasons: [
    [
      "Pay for what arrives",
      "The output of a stream that breaks off is charged only up to the last delivered piece. No request is charged twice."
    ],
    [
      "Prepaid, without surprises",
      "Token plans for one model, or a balance for all. When the plan or the balance is used up, requests are refused. You never get a bill."
    ],
    [
      "Made for resellers",
      "Buy quota with QRIS or stablecoins, sell plans in your own name, and see what your customers use."
    ]
  ],
  startTitle: "How to start",
  start: [
    "Get an API key from a reseller, or sign up as a reseller and create keys for your customers.",
    "Set the base URL of your program to this address with /v1 (for Anthropic's programs without /v1).",
    "Choose a model from the list, and send the first request."
  ],
  settings: "Settings for each program",
  modelsTitle: "Models and prices",
  pricesNote: "US dollars per million tokens. Costs are not rounded.",
  model: "Model",
  input: "Input",
  cached: "Cached input",
  output: "Output",
  errors: {
    not_found: ["There is no such page", "The address is wrong, or the page has moved."],
    internal_error: ["Something went wrong", "The service had an internal error. Try again."],
    overloaded: ["The service is busy", "Try again in a moment."]
  },
  requestId: "Request id:",
  toStart: "To the start page"
} as const

type Widened<T> = T extends string ? string : { readonly [K in keyof T]: Widened<T[K]> }
export type PageTexts = Widened<typeof en>

const id: PageTexts = {
  skip: "Langsung ke isi",
  console: "Konsol",
  documentation: "Dokumentasi",
  rankings: "Peringkat",
  otherLanguage: "English",
  title: "Satu API untuk banyak model AI",
  lead: "Pakai program OpenAI atau Anthropic yang sudah Anda punya. Ganti base URL dan nama model. Jika streaming terputus, Anda hanya membayar prompt dan keluaran yang sampai kepada Anda.",
  signUp: "Menjadi reseller",
  balance: "Saya punya kunci API",
  reasonsTitle: "Mengapa memakai layanan ini",
  reasons: [
    [
      "Bayar yang sampai saja",
      "Keluaran streaming yang terputus hanya dihitung sampai bagian terakhir yang terkirim. Tidak ada permintaan yang dihitung dua kali."
    ],
    [
      "Prabayar, tanpa kejutan",
      "Paket token untuk satu model, atau saldo untuk semua model. Jika paket atau saldo habis, permintaan ditolak. Anda tidak pernah menerima tagihan."
    ],
    [
      "Dibuat untuk reseller",
      "Beli kuota dengan QRIS atau stablecoin, jual paket atas nama Anda, dan lihat pemakaian pelanggan."
    ]
  ],
  startTitle: "Cara mulai",
  start: [
    "Dapatkan kunci API dari reseller, atau daftar sebagai reseller dan buat kunci untuk pelanggan Anda.",
    "Isi base URL program Anda dengan alamat ini ditambah /v1 (untuk program Anthropic tanpa /v1).",
    "Pilih model dari daftar, lalu kirim permintaan pertama."
  ],
  settings: "Pengaturan tiap program",
  modelsTitle: "Model dan harga",
  pricesNote: "Dolar AS per satu juta token. Biaya tidak dibulatkan.",
  model: "Model",
  input: "Masukan",
  cached: "Masukan dari cache",
  output: "Keluaran",
  errors: {
    not_found: ["Halaman tidak ditemukan", "Alamatnya salah, atau halaman sudah dipindahkan."],
    internal_error: ["Terjadi kesalahan", "Terjadi kesalahan pada layanan. Coba lagi."],
    overloaded: ["Layanan sedang sibuk", "Coba beberapa saat lagi."]
  },
  requestId: "ID permintaan:",
  toStart: "Ke halaman awal"
}

export const pageTexts: { readonly [L in Language]: PageTexts } = { id, en }
