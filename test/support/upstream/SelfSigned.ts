/**
 * Contains a private key and a self-signed certificate for 127.0.0.1. They are for tests only, because the key is
 * public.
 */
export const selfSigned = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgVv9uXuISqFsPldgO
95Dc5YdCf/ZmY9Dx5dAPU92IkvmhRANCAASs1zuFGUf1TVvHjVzCgC2Xg6BOAetj
1nWVuPeszJYlui9fqAR0XpJTeHNb/I0nAFJDwchPD1O1q7W6jpgY4QYp
-----END PRIVATE KEY-----`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUNyUZ6xtZmx2h/bjQ1/RmIGrH29swCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMDA2MzI1M1oYDzIxMjYxMDI3
MDYzMjUzWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAASs1zuFGUf1TVvHjVzCgC2Xg6BOAetj1nWVuPeszJYlui9fqAR0XpJT
eHNb/I0nAFJDwchPD1O1q7W6jpgY4QYpo28wbTAdBgNVHQ4EFgQUe84jwSycU7g3
zU7budLzxfgvUu8wHwYDVR0jBBgwFoAUe84jwSycU7g3zU7budLzxfgvUu8wDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARhwR/AAABgglsb2NhbGhvc3QwCgYIKoZI
zj0EAwIDSAAwRQIhALjz5d/MKlE9Rb/AFitc3Ok1ocPcsTFVHbRVmgZhW7M+AiBS
doJH/hs9CyaHEx2qj1xSqUePfsgZlIXu5wX09hkenQ==
-----END CERTIFICATE-----`
}
