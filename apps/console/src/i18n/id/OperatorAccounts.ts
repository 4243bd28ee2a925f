/**
 * Indonesian: the pages of an operator about resellers, customers, keys and top-ups.
 */
import type { operatorAccountTexts as english } from "../en/OperatorAccounts.ts"

export const operatorAccountTexts: typeof english = {
  decision: {
    reason: "Alasan",
    reasonHint: "Untuk log audit, dalam satu baris.",
    optionalReasonHint: "Untuk log audit. Boleh kosong.",
    reasonMissing: "Isi alasannya."
  },
  problems: {
    insufficient_quota: "Kuota lebih kecil daripada jumlah yang dikurangkan. Tidak ada yang berubah.",
    insufficient_balance: "Saldo bayar sesuai pemakaian tidak cukup. Tidak ada yang ditagih.",
    amount_out_of_range:
      "Jumlah semua penambahan saldo pelanggan ini akan melebihi batas. Tidak ada yang berubah. Tambahkan jumlah yang lebih kecil.",
    operation_conflict: "ID operasi ini sudah dipakai untuk perubahan lain. Mulai lagi.",
    reseller_not_found: "Reseller tidak ditemukan.",
    user_not_found: "Tidak ada pelanggan dengan email ini.",
    user_exists: "Sudah ada pelanggan dengan email ini.",
    key_not_found: "Kunci tidak ditemukan.",
    review_refused: "Status reseller tidak mengizinkan keputusan ini. Muat ulang halaman.",
    review_resolved: "Peninjauan ini sudah diselesaikan.",
    pattern_not_listed: "Entri ini tidak ada di daftar hitam.",
    review_not_found: "Permintaan ini tidak ada dalam antrean peninjauan. Muat ulang halaman.",
    session_not_found: "Sesi tidak ditemukan.",
    invalid_session: "Sesi Anda sudah berakhir. Buka sesi baru dengan: tollgate console"
  },
  filters: {
    search: "Cari",
    status: "Status",
    all: "Semua",
    apply: "Cari"
  },
  resellers: {
    list: "Daftar reseller",
    searchHint: "Sebagian dari nama atau email.",
    statuses: { pending: "Menunggu peninjauan", active: "Aktif", suspended: "Ditangguhkan", rejected: "Ditolak" },
    none: "Tidak ada reseller yang cocok",
    noneText: "Reseller mendaftar sendiri. Kirimkan alamat layanan ini kepada calon reseller.",
    one: "Reseller",
    details: "Rincian",
    email: "Email",
    number: "Nomor WhatsApp",
    since: "Mendaftar",
    review: "Keputusan",
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
      },
      suspend: {
        confirm: "Tangguhkan",
        question: (name) => `Tangguhkan “${name}”?`,
        text: "Sesi reseller langsung berakhir, dan reseller tidak dapat masuk. Kunci pelanggannya tetap berfungsi."
      },
      reactivate: {
        confirm: "Aktifkan lagi",
        question: (name) => `Aktifkan lagi “${name}”?`,
        text: "Reseller dapat masuk lagi."
      }
    },
    quota: "Kuota",
    movements: "Mutasi kuota",
    noMovements: "Belum ada mutasi",
    noMovementsText: "Pengisian atau penyesuaian menambah kuota pertama.",
    kinds: { topup: "Pengisian", mint: "Penjualan", adjustment: "Penyesuaian" },
    orders: "Pengisian reseller ini",
    keys: "Kunci pelanggan reseller ini",
    link: "Hubungkan pelanggan",
    linkText: "Setelah itu, reseller dapat membuat kunci yang memakai saldo pelanggan ini.",
    linkQuestion: (email) => `Jadikan ${email} pelanggan reseller ini?`,
    linked: (email) => `${email} sudah menjadi pelanggan reseller ini.`
  },
  booking: {
    adjust: "Sesuaikan kuota",
    credit: "Tambah saldo",
    direction: "Perubahan",
    add: "Tambah",
    deduct: "Kurangi",
    amount: "Jumlah dalam dolar AS",
    amountIssue: "Isi jumlah di atas 0, paling banyak enam desimal, misalnya 2,5 atau 1.250,50.",
    review: "Lanjut",
    confirm: "Konfirmasi perubahan",
    before: "Saldo sekarang",
    change: "Perubahan",
    after: "Saldo sesudahnya",
    book: "Bukukan sekarang",
    sendAgain: "Kirim lagi",
    discard: "Lupakan",
    unknown: "Hasilnya belum diketahui",
    unknownText:
      "Layanan belum mengonfirmasi perubahan, jadi belum diketahui apakah perubahan sudah dibukukan. Kirim lagi: perubahan yang sama tidak pernah dibukukan dua kali. “Lupakan” tidak membatalkan perubahan: periksa saldo sebelum membukukan lagi.",
    done: "Sudah dibukukan",
    doneBefore: "Perubahan ini sudah dibukukan sebelumnya, dan tidak dibukukan lagi.",
    balance: "Saldo",
    another: "Perubahan lain"
  },
  blacklist: {
    title: "Daftar hitam",
    intro: "Email dan domain yang tidak dapat mendaftar sebagai reseller. Reseller yang sudah ada tidak terpengaruh.",
    list: "Isi daftar",
    none: "Daftar hitam kosong",
    noneText: "Tambahkan email, atau @ dan domain.",
    pattern: "Email atau domain",
    patternHint: "Misalnya buruk@contoh.com atau @contoh.com.",
    patternIssue: "Isi email, atau @ dan domain.",
    add: "Tambah",
    added: (time) => `Ditambahkan ${time}`,
    remove: "Hapus",
    removeQuestion: (pattern) => `Hapus ${pattern} dari daftar hitam?`,
    removeText: "Reseller dengan email atau domain ini dapat mendaftar lagi."
  },
  customers: {
    list: "Daftar pelanggan",
    searchHint: "Sebagian dari email.",
    statuses: { active: "Aktif", blocked: "Diblokir" },
    none: "Tidak ada pelanggan yang cocok",
    noneText: "Reseller membuat pelanggannya, atau Anda membuatnya di sini.",
    create: "Buat pelanggan",
    email: "Email",
    emailIssue: "Isi email.",
    keys: (count) => `Kunci aktif: ${count}`,
    of: (resellers) => `Pelanggan dari ${resellers}`,
    one: "Pelanggan",
    balances: "Paket dan saldo",
    noPlansText: "Reseller menjual paket. Penambahan saldo mengisi saldo bayar sesuai pemakaian.",
    noUsageText: "Pemakaian muncul di sini setelah permintaan pertama."
  },
  keys: {
    title: "Kunci API",
    none: "Tidak ada kunci",
    noneText: "Reseller membuat kunci di konsolnya. Operator membuat kunci dengan baris perintah.",
    limited: "Dibatasi",
    one: "Kunci API",
    details: "Kunci",
    name: "Nama",
    id: "ID kunci",
    customer: "Pelanggan",
    used: "Pemakaian terhadap batas",
    today: "Terpakai hari ini",
    month: "Terpakai bulan ini",
    total: "Total terpakai",
    held: "Disisihkan untuk permintaan terbuka",
    available: "Tersedia",
    open: "Permintaan terbuka",
    requests: "Permintaan dalam rentang 60 detik saat ini",
    tokens: "Token dalam rentang 60 detik saat ini",
    notCounted: "Pemakaian hanya dihitung untuk kunci dengan anggaran, batas laju, atau batas permintaan bersamaan.",
    set: "Tetapkan batas",
    setQuestion: (name) => `Tetapkan batas ini untuk “${name}”?`,
    setText: "Batas ini menggantikan semua batas kunci, dan berlaku untuk permintaan baru.",
    saved: "Batas sudah ditetapkan.",
    changedMeanwhile:
      "Batas yang tersimpan sudah berubah sejak halaman ini dimuat, jadi tidak diganti. Periksa batasnya, lalu isi perubahan Anda lagi."
  },
  topUps: {
    list: "Daftar pengisian",
    flagged: "Kejanggalan",
    onlyFlagged: "Hanya yang janggal",
    statuses: {
      pending: "Menunggu",
      crediting: "Dibayar",
      credited: "Kuota masuk",
      expired: "Kedaluwarsa",
      failed: "Gagal"
    },
    ofReseller: "Reseller",
    ofResellerHint: "ID atau email reseller. Kosongkan untuk semua reseller.",
    none: "Tidak ada pesanan yang cocok",
    noneText: "Pilih filter lain. Reseller membuat pesanan di konsolnya.",
    refreshAll: "Perbarui semua pesanan terbuka",
    refreshAllText:
      "Membaca pembayaran semua pesanan terbuka dan pesanan lain yang sudah waktunya diperbarui, lalu menambahkan kuota dari pesanan yang sudah dibayar. Ini dapat memakan beberapa menit.",
    refreshed: (refreshed, attempted) => `${refreshed} dari ${attempted} pesanan sudah dibaca.`,
    credited: (count) => `Pesanan yang kuotanya sudah masuk: ${count}.`,
    withoutProvider: (count) => `Pesanan terbuka yang penyedia pembayarannya tidak dikonfigurasi: ${count}.`,
    refresh: "Perbarui",
    refreshText: "Membaca pembayaran dari penyedia pembayaran, dan menambahkan kuota jika pesanan sudah dibayar.",
    refreshDone: "Pembayaran sudah dibaca.",
    refreshFailed:
      "Pembayaran tidak dapat dibaca dari penyedia pembayaran. Pesanan ditampilkan seperti yang tersimpan.",
    reseller: "Reseller",
    status: "Status",
    simulated: "Simulasi: bukan uang sungguhan",
    received: "Diterima",
    excess: "Kelebihan, tidak menambah kuota",
    paymentId: "ID pembayaran",
    transactions: "Transaksi",
    remarks: "Catatan",
    payTo: "Bayar ke",
    refreshedAt: "Terakhir dibaca"
  },
  images: {
    title: "Peninjauan gambar",
    intro: "Permintaan gambar yang belum ditagih. Putuskan apakah pelanggan membayar.",
    state: "Tampilkan",
    states: { waiting: "Hanya yang menunggu", all: "Semua" },
    none: "Tidak ada gambar yang menunggu keputusan",
    reasons: {
      unmetered: "Penyedia tidak melaporkan pemakaian",
      withheld: "Terlalu besar untuk dikirim",
      timeout: "Tidak siap tepat waktu",
      abandoned: "Klien terputus, atau node mati"
    },
    resolutions: { waived: "Dibebaskan", charged: "Ditagih" },
    waive: "Bebaskan",
    waiveQuestion: "Bebaskan biaya gambar ini?",
    waiveText: (email) => `${email} tidak membayar gambar ini. Tindakan ini tidak dapat dibatalkan.`,
    charge: "Tagih",
    chargeQuestion: "Tagih gambar ini?",
    chargeText: (email) =>
      `${email} membayar jumlah ini dari saldo bayar sesuai pemakaian. Tindakan ini tidak dapat dibatalkan.`
  }
}
