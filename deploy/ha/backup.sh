#!/bin/sh
# backup.sh SETTINGS: makes a base backup of the leader in ARCHIVE. A restore reads it and the files of the WAL that were archived since.
set -eu
umask 077
. "$(realpath "$1")"
to=$ARCHIVE/base/$(date --utc +%Y%m%dT%H%M%SZ)
PGPASSWORD=$PASSWORD "$BIN/pg_basebackup" --host="$HERE" --port=5000 --username=replicator --checkpoint=fast \
  --format=tar --gzip --wal-method=fetch --pgdata="$to.part"
mv "$to.part" "$to"
echo "$to"
