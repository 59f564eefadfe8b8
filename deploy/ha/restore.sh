#!/bin/sh
# restore.sh SETTINGS DIRECTORY [TIME]: restores the newest base backup from before TIME into an empty DIRECTORY, then the WAL up to TIME, or
# all of it, and ends all cursors of `GET /sync`. Run it as PostgreSQL's user; PostgreSQL is stopped afterwards.
set -eu
umask 077
. "$1"
target=${3:-}
last=${target:+$(date --utc --date="$target" +%Y%m%dT%H%M%SZ)}
base=$(ls -d "$ARCHIVE"/base/*Z | while read -r path; do
  [ -n "$last" ] && [ "${path##*/}" \> "$last" ] || echo "$path"
done | tail -n 1)
[ -n "$base" ] || { echo "there is no base backup from before $target in $ARCHIVE/base" >&2; exit 1; }
mkdir -p "$2"
tar --extract --gzip --file="$base/base.tar.gz" --directory="$2"
rm -f "$2/standby.signal" "$2/patroni.dynamic.json"
# What Patroni has written into the files of the backup is not of this server.
{
  echo "listen_addresses = ''"
  echo "unix_socket_directories = '$2'"
  echo "archive_mode = off"
  echo "synchronous_standby_names = ''"
  echo "restore_command = 'cp $ARCHIVE/wal/%f %p'"
  echo "recovery_target_action = promote"
  if [ -n "$target" ]; then echo "recovery_target_time = '$target'"; fi
} > "$2/restore.conf"
echo "include 'restore.conf'" >> "$2/postgresql.auto.conf"
printf 'local all all trust\n' > "$2/pg_hba.conf"
touch "$2/recovery.signal"
"$BIN/pg_ctl" --pgdata="$2" --log="$2/restore.log" --wait --timeout=3600 start > "$2/start.log"
until [ "$("$BIN/psql" --host="$2" --username=postgres --tuples-only --no-align --command='SELECT pg_is_in_recovery()' postgres)" = f ]; do
  sleep 0.2
done
"$BIN/psql" --host="$2" --username=postgres --quiet --command='UPDATE change_epochs SET epoch = gen_random_uuid()' routes
"$BIN/pg_ctl" --pgdata="$2" --wait --mode=fast stop > /dev/null
sed -i "/^include 'restore.conf'$/d" "$2/postgresql.auto.conf"
rm "$2/restore.conf"
