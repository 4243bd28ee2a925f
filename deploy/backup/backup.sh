#!/bin/sh
# Makes a backup. Run it as the user postgres: weekly with "full", daily with "incr".
#   backup.sh full|incr [CONFIG]
set -eu
type=${1:?"usage: backup.sh full|incr [CONFIG]"}
config=${2:-/etc/pgbackrest.conf}
pgbackrest --config="$config" --stanza=tollgate check
pgbackrest --config="$config" --stanza=tollgate --type="$type" backup
pgbackrest --config="$config" --stanza=tollgate info
