#!/bin/sh
# render.sh SETTINGS DIRECTORY: writes the files of this directory there, with the settings of a machine in them.
set -eu
umask 077
set -a
. "$1"
names=$(sed -n 's/^\([A-Z]*\)=.*/${\1}/p' "$1")
cd "$(dirname "$0")"
for file in etcd.yaml patroni.yaml bootstrap.sql haproxy.cfg pgbouncer.ini users.txt nginx.conf archive.sh; do
  envsubst "$names" < "$file" > "$2/$file"
done
