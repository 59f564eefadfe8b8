#!/bin/sh
# backup.sh SETTINGS: makes a base backup of the leader in ARCHIVE. A restore reads it and the files of the WAL that were archived since.
set -eu
umask 077
. "$(realpath "$1")"
part=$ARCHIVE/base/$(date --utc +%Y%m%dT%H%M%SZ).part
# A separate connection reads the WAL meanwhile, so that none of it is recycled before it is read.
PGPASSWORD=$PASSWORD "$BIN/pg_basebackup" --host="$HERE" --port=5000 --username=replicator --checkpoint=fast \
  --format=tar --gzip --wal-method=stream --pgdata="$part"
# A restore can lead to no time before the backup was whole, so this is its name.
to=$ARCHIVE/base/$(date --utc +%Y%m%dT%H%M%SZ)
mv "$part" "$to"
echo "$to"
