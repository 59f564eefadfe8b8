#!/bin/sh
# archive.sh FILE NAME: PostgreSQL's archive_command. A file is in the archive whole or not at all; the same one may come twice.
set -eu
cmp --silent "$1" "${ARCHIVE}/wal/$2" && exit 0
test ! -e "${ARCHIVE}/wal/$2"
cp "$1" "${ARCHIVE}/wal/$2.part.${NAME}"
sync "${ARCHIVE}/wal/$2.part.${NAME}"
mv "${ARCHIVE}/wal/$2.part.${NAME}" "${ARCHIVE}/wal/$2"
