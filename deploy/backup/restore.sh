#!/bin/sh
# Restores the data directory to a point in time. Run it as the user postgres, with Postgres and all gateways stopped.
# Then start Postgres, and follow "After a restore" in docs/backup.md before you start a gateway.
#   restore.sh "2026-11-22 17:04:00+00" [CONFIG]
set -eu
target=${1:?"usage: restore.sh TIME [CONFIG]"}
config=${2:-/etc/pgbackrest.conf}
# Postgres would read a time without a time zone as its local time. pgBackRest finds the backup before a time only if the
# time has this form. Some of its versions otherwise restore the last backup, which can be later than the time.
form='^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?[+-][0-9]{2}(:?[0-9]{2})?$'
if ! printf '%s\n' "$target" | grep -Eq "$form"; then
  echo "The time needs seconds and the offset of a time zone, for example 2026-11-22 17:04:00+00" >&2
  exit 2
fi
pgbackrest --config="$config" --stanza=tollgate --delta --type=time --target="$target" --target-action=promote restore
