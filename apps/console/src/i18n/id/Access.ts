/**
 * Indonesian: the pages without a session, and the account of a reseller.
 */
import type { accessTexts as english } from "../en/Access.ts"

export const accessTexts: typeof english = {
  start: {
    title: (service) => `Selamat datang di ${service}`,
    intro: "Pilih cara Anda memakai layanan ini.",
    reseller: "Saya menjual token",
    resellerText: "Beli kuota dengan QRIS atau stablecoin, jual paket token, dan lihat pemakaian pelanggan Anda.",
    signUp: "Daftar",
    logIn: "Masuk",
    customer: "Saya punya kunci API",
    customerText: "Lihat paket, saldo, dan pemakaian Anda. Cukup dengan kunci API.",
    enterKey: "Masukkan kunci"
  },
  access: {
    signUp: "Daftar",
    signUpIntro: "Operator meninjau setiap akun baru. Anda dapat masuk setelah akun disetujui.",
    logIn: "Masuk",
    name: "Nama usaha",
    nameIssue: "Isi nama dengan 1 sampai 200 karakter.",
    email: "Email",
    emailIssue: "Isi alamat email, misalnya nama@example.com.",
    number: "Nomor WhatsApp",
    numberHint: "Dengan kode negara, misalnya 62812…",
    numberIssue: "Isi 7 sampai 15 angka, diawali kode negara.",
    password: "Kata sandi",
    passwordHint: "8 sampai 128 karakter.",
    haveAccount: "Sudah punya akun?",
    noAccount: "Belum punya akun?",
    forgotten: "Lupa kata sandi? Hubungi operator layanan ini.",
    sessionEnded: "Sesi Anda sudah berakhir",
    sessionEndedText: "Silakan masuk lagi. Anda akan kembali ke halaman tadi.",
    keyEndedText: "Kunci tidak diterima lagi. Masukkan kunci lain.",
    suspended: "Akun ini ditangguhkan",
    rejected: "Akun ini tidak disetujui",
    notActiveText: "Hubungi operator layanan ini. Pelanggan, kuota, dan catatan Anda tetap tersimpan.",
    waiting: "Akun Anda sedang ditinjau",
    waitingText: "Operator memeriksa data Anda dan mungkin menghubungi Anda lewat WhatsApp. Anda cukup menunggu.",
    waitingFor: "Akun:",
    stepSignedUp: "Mendaftar",
    stepReview: "Peninjauan oleh operator",
    stepTopUp: "Beli kuota",
    stepMint: "Jual paket pertama",
    stillWaiting: "Peninjauan belum selesai.",
    askAgain: "Sudah selesai ditinjau?",
    enterKey: "Saldo Anda",
    enterKeyIntro: "Tempel kunci API yang Anda terima dari reseller.",
    key: "Kunci API",
    keyHint: "Kunci hanya tersimpan di tab ini dan hilang saat tab ditutup.",
    showBalance: "Tampilkan saldo"
  },
  account: {
    title: "Akun",
    name: "Nama",
    email: "Email",
    password: "Kata sandi",
    passwordText: "Kata sandi baru mengakhiri sesi di semua perangkat lain.",
    currentPassword: "Kata sandi saat ini",
    newPassword: "Kata sandi baru",
    changePassword: "Ganti kata sandi",
    passwordChanged: "Kata sandi sudah diganti. Semua sesi lain sudah berakhir.",
    wrongPassword: "Kata sandi saat ini salah.",
    leave: "Sesi",
    leaveText: "Sesi berakhir sendiri setelah 24 jam.",
    logOut: "Keluar",
    logOutEverywhere: "Keluar dari semua perangkat",
    filesTitle: "File untuk pembukuan",
    filesText: "Semua catatan dalam bentuk CSV, yang dapat dibuka di aplikasi lembar kerja.",
    files: { quota: "Mutasi kuota", mints: "Penjualan", topUps: "Pengisian kuota", usage: "Pemakaian" }
  }
}
