#!/bin/sh
# restore.sh SETTINGS DIRECTORY [TIME]: restores the newest base backup from before TIME into an empty DIRECTORY, then the WAL up to TIME, or
# all of it, and ends all cursors of `GET /sync`. Run it as PostgreSQL's user; PostgreSQL is stopped afterwards.
set -eu
umask 077
. "$(realpath "$1")"
to=$(realpath "$2")
target=${3:-}
last=${target:+$(date --utc --date="$target" +%Y%m%dT%H%M%SZ)}
base=$(ls -d "$ARCHIVE"/base/*Z | while read -r path; do
  [ -n "$last" ] && ! [ "${path##*/}" \< "$last" ] || echo "$path"
done | tail -n 1)
[ -n "$base" ] || { echo "there is no base backup from before $target in $ARCHIVE/base" >&2; exit 1; }
mkdir -p "$to"
tar --extract --gzip --file="$base/base.tar.gz" --directory="$to"
# Base backups from before their WAL was streamed have it in the first file.
if [ -e "$base/pg_wal.tar.gz" ]; then tar --extract --gzip --file="$base/pg_wal.tar.gz" --directory="$to/pg_wal"; fi
rm -f "$to/standby.signal" "$to/patroni.dynamic.json"
# It overrides what Patroni has written into the files of the backup, which is not of this server.
{
  echo "listen_addresses = ''"
  echo "port = 5432"
  echo "unix_socket_directories = '$to'"
  echo "archive_mode = off"
  echo "synchronous_standby_names = ''"
  echo "restore_command = 'cp $ARCHIVE/wal/%f %p'"
  echo "recovery_target_action = promote"
  if [ -n "$target" ]; then echo "recovery_target_time = '$(date --utc --date="$target" "+%F %T.%6N+00")'"; fi
} > "$to/restore.conf"
echo "include 'restore.conf'" >> "$to/postgresql.auto.conf"
echo "local all all trust" > "$to/pg_hba.conf"
touch "$to/recovery.signal"
"$BIN/pg_ctl" --pgdata="$to" --log="$to/restore.log" --wait --timeout=3600 start > "$to/start.log" 2>&1 || true
ask() {
  "$BIN/psql" --host="$to" --username=postgres --dbname="$1" --no-align --tuples-only --quiet --command="$2"
}
while recovering=$(ask postgres 'SELECT pg_is_in_recovery()') && [ "$recovering" = t ]; do sleep 0.2; done
if [ "$recovering" != f ]; then
  sed -n '/FATAL/p' "$to/restore.log" >&2
  [ -z "$target" ] || echo "if nothing was archived after $target: leave the time out, into an empty directory" >&2
  exit 1
fi
ask routes 'UPDATE change_epochs SET epoch = gen_random_uuid()'
"$BIN/pg_ctl" --pgdata="$to" --wait --mode=fast stop > /dev/null
sed -i "/^include 'restore.conf'$/d" "$to/postgresql.auto.conf"
rm "$to/restore.conf"
