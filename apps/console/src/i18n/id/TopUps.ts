/**
 * Indonesian: top-ups.
 */
import type { topUpTexts as english } from "../en/TopUps.ts"

export const topUpTexts: typeof english = {
  topUps: {
    intro: "Isi kuota untuk menjual paket. Kuota 1 USD seharga Rp10.000.",
    create: "Pengisian baru",
    orders: "Pesanan Anda",
    none: "Belum ada pengisian",
    noneText: "Beli kuota untuk menjual paket ke pelanggan Anda.",
    one: "Pengisian kuota",
    oneOf: (quota) => `Pengisian kuota ${quota}`,
    method: "Cara bayar",
    methods: {
      qris: "QRIS",
      hosted_qris: "QRIS di halaman pembayaran",
      crypto: "USDT atau USDC",
      crypto_bep20: "USDT atau USDC di BNB Smart Chain"
    },
    methodTexts: {
      qris: "Pindai dengan aplikasi bank atau dompet digital apa pun. Biaya 5%.",
      hosted_qris: "Pindai, atau bayar di halaman penyedia pembayaran. Tanpa biaya.",
      crypto: "Beberapa jaringan. 1 USDT atau USDC untuk kuota 1 USD.",
      crypto_bep20: "Alamat khusus untuk pesanan ini. 1 USDT atau USDC untuk kuota 1 USD."
    },
    token: "Token",
    amountIdr: "Jumlah dalam rupiah",
    amountUsd: "Jumlah dalam dolar AS",
    amountIssues: {
      rupiah: "Isi rupiah tanpa desimal, misalnya 50.000 atau 50000.",
      dollars: "Isi dolar dengan paling banyak enam desimal, misalnya 25 atau 2,5 atau 1.250,50."
    },
    amountRefused: "Penyedia pembayaran tidak menerima jumlah ini. Isi jumlah lain.",
    amountRange: (min, max) => `Isi jumlah dari ${min} sampai ${max}.`,
    tooManyUnpaid: (minutes) =>
      `Pesanan Anda yang belum dibayar terlalu banyak. Bayar salah satunya, atau coba lagi dalam ${minutes} menit.`,
    fee: "Biaya",
    toPay: "Total bayar",
    quota: "Kuota",
    submit: "Buat pesanan",
    unknown: "Hasilnya belum diketahui",
    unknownText:
      "Layanan belum mengonfirmasi pesanan, jadi belum diketahui apakah pesanan sudah dibuat. Kirim lagi: pesanan yang sama tidak pernah dibuat dua kali.",
    sendAgain: "Kirim lagi",
    states: {
      waiting: "Menunggu pembayaran",
      underpaid: "Kurang bayar",
      underpaidLate: "Kurang bayar dan lewat batas waktu",
      overdue: "Lewat batas waktu",
      crediting: "Dibayar",
      credited: "Kuota masuk",
      late: "Kuota masuk terlambat",
      expired: "Kedaluwarsa",
      failed: "Gagal"
    },
    anomalies: { late: "Terlambat", underpaid: "Kurang bayar", overpaid: "Lebih bayar", remarked: "Ada catatan" },
    waiting: "Bayar tepat sejumlah ini. Kuota masuk begitu pembayaran diterima.",
    underpaid: (received, missing) => `${received} sudah diterima. Kirim kekurangan ${missing} ke alamat yang sama.`,
    underpaidLate: (received, missing) =>
      `${received} sudah diterima dan masih kurang ${missing}, tetapi batas waktu sudah lewat. Jangan kirim lagi. Jika kekurangannya sudah Anda kirim, kuota tetap masuk. Jika belum, tanyakan kepada operator tentang jumlah yang sudah diterima.`,
    overdue:
      "Batas waktu sudah lewat. Jangan bayar pesanan ini. Pembayaran yang sudah Anda kirim tetap menambah kuota.",
    crediting: "Pembayaran diterima. Kuota sedang ditambahkan.",
    credited: (quota) => `Kuota ${quota} sudah masuk.`,
    late: (quota) => `Pembayaran diterima setelah batas waktu. Kuota ${quota} tetap masuk.`,
    expired:
      "Pembayaran tidak diterima tepat waktu. Jangan bayar pesanan ini. Pembayaran yang sudah Anda kirim tetap menambah kuota.",
    failed: "Pembayaran gagal atau dikembalikan. Buat pengisian baru, atau hubungi operator.",
    pay: "Bayar",
    timeLeft: "Sisa waktu",
    payBefore: (time) => `sampai ${time}`,
    details: "Rincian",
    number: "Nomor pesanan",
    provider: "Penyedia pembayaran",
    amount: "Jumlah",
    created: "Dibuat",
    deadline: "Batas waktu",
    paidAt: "Dibayar",
    creditedAt: "Kuota masuk",
    qrisCode: "Kode QRIS untuk dipindai",
    qrisText: "Pindai kode dengan aplikasi bank atau dompet digital Anda. Jumlahnya ada di dalam kode.",
    paymentPage: "Buka halaman pembayaran",
    network: "Token dan jaringan",
    addressCode: "Kode QR alamat",
    exactAmount: (token) => `Kirim tepat sejumlah ini (${token})`,
    addressOn: (network) => `Ke alamat di ${network}`,
    address: "Alamat",
    memo: "Memo",
    contract: "Kontrak token",
    onlyThis: (token, network) =>
      `Kirim hanya ${token} di ${network}. Token lain, dan token di jaringan lain, akan hilang. Biaya dompet atau bursa Anda dibayar di luar jumlah ini.`
  }
}
