#!/usr/bin/env bash
# Runs the steps of a reseller with curl against a local server: signup, approval, login, top-ups by all four methods, a
# mint, the creation of an API key for a customer, and the customer's usage.
#
#     npm start                 # in one terminal
#     bash docs/story.sh        # in another
#
# In the output, a line with > is a request. A line with < is the status of the response to the request above it. Each
# run creates a new reseller and a new customer.
set -euo pipefail
cd "$(dirname "$0")/.."

gateway=${TOLLGATE_URL:-http://127.0.0.1:8080}
payments=${PAYMENTS_URL:-http://127.0.0.1:4010}
tollgate=${TOLLGATE_CLI:-npm run -s tollgate --}

name="story-$(date +%s)-$$"
reseller="$name@reseller.example"
customer="$name@customer.example"
token=""
response=""

chapter() { printf '\n## %s\n' "$1"; }

# Prints JSON with indentation.
pretty() { node -e 'console.log(JSON.stringify(JSON.parse(process.argv[1]), null, 2))' "$1"; }

# pick PATH: prints one member of the last response, for example `pick reseller.status` or `pick tiers.0.plan_tier_id`.
pick() {
  node -e 'console.log(process.argv[2].split(".").reduce((value, name) => value[name], JSON.parse(process.argv[1])))' \
    "$response" "$1"
}

# call METHOD PATH [BODY]: sends a request, with the reseller's token if there is one. A status other than 2xx ends the
# script.
call() {
  local method=$1 path=$2 body=${3:-} status
  printf '\n> %s\n' "$method $path${body:+ $body}"
  local options=(-sS -X "$method" -w '\n%{http_code}' -H "Content-Type: application/json")
  if [ -n "$token" ]; then options+=(-H "Authorization: Bearer $token"); fi
  if [ -n "$body" ]; then options+=(-d "$body"); fi
  response=$(curl "${options[@]}" "$gateway$path")
  status=${response##*$'\n'}
  response=${response%$'\n'*}
  printf '< %s\n' "$status"
  pretty "$response"
  case $status in 2*) ;; *) exit 1 ;; esac
}

# operator ARGUMENTS: runs a command of the operator's command line.
operator() {
  printf '\n$ tollgate %s\n' "$*"
  $tollgate "$@"
}

# top_up BODY: creates an order, pays the order at the payment simulator, and reads the order again.
top_up() {
  call POST /api/reseller/topup "$1"
  local id number
  id=$(pick id)
  number=$(pick order_number)
  printf '\n> the payer pays %s\n' "$number"
  curl -sS --fail -o /dev/null -X POST "$payments/pay/$number"
  call GET "/api/reseller/topup/$id"
  if [ "$(pick status)" != credited ]; then
    echo "the order is not credited" >&2
    exit 1
  fi
}

chapter "A reseller signs up, and an operator approves it"
call POST /api/reseller/auth/signup \
  "{\"email\":\"$reseller\",\"password\":\"correct horse\",\"name\":\"Toko Token\",\"wa_number\":\"6281234567890\"}"
operator resellers approve "$reseller" --reason "the story needs it"
call POST /api/reseller/auth/login "{\"email\":\"$reseller\",\"password\":\"correct horse\"}"
token=$(pick token)
call GET /api/reseller/me

chapter "The reseller tops up by each method"
top_up '{"method":"qris","amount_idr":100000}'
top_up '{"method":"hosted_qris","amount_idr":50000}'
top_up '{"method":"crypto","amount_usd_micro":20000000}'
top_up '{"method":"crypto_bep20","amount_usd_micro":25000123,"token_kind":"usdc"}'
call GET '/api/reseller/topups?limit=2'
call GET /api/reseller/balance

chapter "The reseller gives a customer a plan and a key"
call POST /api/reseller/customers "{\"email\":\"$customer\"}"
user_id=$(pick user_id)
call GET /api/reseller/tiers
model=$(pick tiers.0.model_name)
mint="{\"operation_id\":\"$name\",\"customer_email\":\"$customer\",\"plan_tier_id\":\"$(pick tiers.0.plan_tier_id)\"}"
call POST /api/reseller/mint "$mint"
call POST /api/reseller/mint "$mint"
call POST "/api/reseller/customers/$user_id/keys" '{"name":"first key"}'
key_id=$(pick key_id)
key=$(pick secret)

chapter "The customer calls a model"
printf '\n> POST /v1/chat/completions, stream\n'
curl -sS -N --fail "$gateway/v1/chat/completions" \
  -H "Authorization: Bearer $key" -H "Content-Type: application/json" \
  -d "{\"model\":\"$model\",\"stream\":true,\"stream_options\":{\"include_usage\":true},
       \"messages\":[{\"role\":\"user\",\"content\":\"What is a tollgate?\"}]}"

chapter "The reseller reads balances and usage"
# A stream is settled shortly after its end.
for _ in 1 2 3 4 5 6 7 8 9 10; do
  call GET '/api/reseller/usage?limit=10'
  if [ "$(pick data.length)" != 0 ]; then break; fi
  sleep 0.3
done
call GET "/api/reseller/keys/$key_id/balances"
call GET "/api/reseller/customers/$user_id/balances"
call GET /api/reseller/customers
call GET /api/reseller/balance
call DELETE "/api/reseller/keys/$key_id"

chapter "The ledger is consistent"
operator audit
