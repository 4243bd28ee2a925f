/**
 * Indonesian: the frame of every page, common words, and problems.
 */
import type { frameTexts as english } from "../en/Frame.ts"

export const frameTexts: typeof english = {
  shell: {
    navigation: "Halaman",
    more: "Halaman lain",
    skip: "Langsung ke isi",
    logIn: "Masuk",
    leave: "Keluar",
    notEnded:
      "Layanan belum mengonfirmasi akhir sesi, jadi sesi mungkin masih terbuka. Coba lagi. Tanpa permintaan, sesi berakhir setelah 30 menit.",
    forgetKey: "Lupakan kunci",
    about: "Tentang",
    documentation: "Dokumentasi",
    rankings: "Peringkat",
    language: "Bahasa",
    languages: { id: "Bahasa Indonesia", en: "English" },
    theme: "Tema",
    themes: { system: "Tema perangkat", light: "Terang", dark: "Gelap" },
    pages: {
      home: "Beranda",
      mint: "Jual",
      customers: "Pelanggan",
      topUps: "Isi kuota",
      usage: "Pemakaian",
      account: "Akun",
      balance: "Saldo",
      operatorHome: "Beranda",
      operatorResellers: "Reseller",
      operatorCustomers: "Pelanggan",
      operatorTopUps: "Pengisian",
      operatorService: "Layanan",
      clients: "Pengaturan"
    },
    unknownPage: "Halaman tidak ditemukan",
    unknownPageHint: "Alamatnya salah, atau halaman sudah dipindahkan.",
    toStart: "Ke halaman awal",
    newVersion: "Sebagian konsol tidak dapat dimuat. Mungkin konsol baru saja diperbarui.",
    reload: "Muat ulang halaman"
  },
  common: {
    loading: "Memuat",
    sending: "Mengirim…",
    tryAgain: "Coba lagi",
    back: "Kembali",
    cancel: "Batal",
    copy: "Salin",
    copied: "Tersalin",
    more: "Tampilkan lebih banyak",
    newer: "Lebih baru",
    older: "Lebih lama",
    csv: "CSV",
    downloadCsv: "Unduh sebagai CSV"
  },
  problems: {
    unknown: "Permintaan gagal.",
    requestId: "Sebutkan ID permintaan ini saat melaporkan masalah:",
    waitSeconds: (seconds) => `Terlalu banyak percobaan. Coba lagi dalam ${seconds} detik.`,
    invalidFields: (fields) => `Layanan tidak menerima isian ini: ${fields}.`,
    byCode: {
      no_response: "Layanan tidak merespons. Periksa koneksi Anda, lalu coba lagi.",
      invalid_credentials: "Email atau kata sandi salah.",
      invalid_api_key: "Kunci API ini salah, kedaluwarsa, atau sudah dicabut.",
      invalid_code: "Tautan ini tidak berlaku. Buat tautan baru.",
      operator_console_off: "Konsol operator tidak aktif. Aktifkan dengan OPERATOR_CONSOLE=on.",
      email_exists: "Email ini sudah punya akun. Silakan masuk.",
      email_blacklisted: "Email ini tidak dapat mendaftar. Gunakan email lain, atau hubungi operator.",
      rate_limited: "Terlalu banyak percobaan. Coba lagi dalam satu menit.",
      insufficient_quota: "Kuota Anda tidak cukup untuk penjualan ini. Isi kuota dulu.",
      idempotency_conflict: "Permintaan ini bertentangan dengan permintaan sebelumnya. Mulai lagi dari awal.",
      tier_not_available: "Paket ini tidak dijual, atau tokennya tidak muat di paket pelanggan. Pilih paket lain.",
      topup_not_found: "Pesanan tidak ditemukan.",
      not_found: "Data tidak ditemukan.",
      provider_unavailable: "Cara bayar ini sedang tidak tersedia. Coba nanti, atau gunakan cara lain.",
      overloaded: "Layanan sedang sibuk. Coba beberapa saat lagi.",
      reseller_not_active: "Akun ini tidak aktif. Hubungi operator.",
      amount_out_of_range: "Cara bayar ini tidak menerima jumlah tersebut.",
      validation_error: "Layanan tidak menerima isian ini. Periksa, lalu coba lagi.",
      invalid_request: "Layanan tidak menerima isian ini. Periksa, lalu coba lagi.",
      request_too_large: "Isian terlalu panjang. Persingkat.",
      request_timeout: "Permintaan memakan waktu terlalu lama. Periksa koneksi Anda, lalu coba lagi.",
      method_not_allowed: "Versi konsol dan layanan berbeda. Muat ulang halaman.",
      internal_error: "Terjadi kesalahan pada layanan. Coba lagi."
    }
  }
}
