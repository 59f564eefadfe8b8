#!/bin/sh
# Backs up a database of this machine, restores the backup into a database of its own to show that it can be, and removes
# backups that are older than so many days: backup.sh DATABASE DAYS FOLDER
set -eu
database=$1 days=$2 folder=$3
trial="$database-trial"
backup="$folder/$database-$(date --utc +%Y%m%dT%H%M%SZ).dump"

umask 077
# Without the second trap dash ends at a signal without the first, and what it has written of a database stays.
trap 'rm -f "$backup.partial"; dropdb --if-exists "$trial" 2> /dev/null' EXIT
trap 'exit 143' TERM INT HUP
find "$folder" -name "$database-????????T??????Z.dump.partial" -delete
pg_dump --format=custom --no-owner --file="$backup.partial" "$database"
dropdb --if-exists "$trial"
createdb --template=template0 --encoding=UTF8 --locale=C.UTF-8 "$trial"
pg_restore --no-owner --exit-on-error --single-transaction --dbname="$trial" "$backup.partial"
mv "$backup.partial" "$backup"
echo "$backup restored on trial: $(psql --dbname="$trial" --tuples-only --no-align --command="SELECT
  (SELECT count(*) FROM users) || ' users, ' || (SELECT count(*) FROM routes) || ' routes'")"
find "$folder" -name "$database-*.dump" -mmin "+$((days * 1440))" -delete
