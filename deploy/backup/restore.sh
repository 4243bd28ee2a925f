#!/bin/sh
# Restores the data directory to a point in time. Run it as the user postgres, with Postgres and all gateways stopped.
# Then start Postgres, and follow "After a restore" in docs/backup.md before you start a gateway.
#   restore.sh "2026-11-22 17:04:00+00" [CONFIG]
set -eu
target=${1:?"usage: restore.sh TIME [CONFIG]"}
config=${2:-/etc/pgbackrest.conf}
# Postgres would read a time without a time zone as its local time.
case "$target" in
  *+[0-9][0-9] | *+[0-9][0-9]:[0-9][0-9] | *-[0-9][0-9]:[0-9][0-9] | *Z) ;;
  *) echo "The time needs a time zone, for example 2026-11-22 17:04:00+00" >&2; exit 2 ;;
esac
pgbackrest --config="$config" --stanza=tollgate --delta --type=time --target="$target" --target-action=promote restore
