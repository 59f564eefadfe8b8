#!/bin/sh
# Runs a program as production does: `npm start`, `npm run dev`, the image, tests and benchmarks start Node by this file.

# `npm ci` puts the right Node.js there. The image has its own.
PATH="$(dirname "$0")/node_modules/.bin:$PATH"
version=$(node --version 2> /dev/null)
case $version in
  v2[4-9].* | v[3-9][0-9].*) ;;
  *)
    echo "Node.js 24 or newer is needed, found ${version:-none}: \`npm ci --omit=dev\` installs it for this service" >&2
    exit 1
    ;;
esac

# By default glibc keeps freed memory, for each thread apart: a third of what the process has after a load. Buffers of
# 64 KiB, in which sockets are read, are mapped by themselves: freed between others they would stay.
export MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072 MALLOC_MMAP_THRESHOLD_=65536

# docs/decisions/0018-what-outlives-a-request.md has the reasons for the options of V8's heap.
exec node --disable-proto=delete --max-semi-space-size=8 --no-allocation-site-pretenuring --heap-growing-percent=60 \
  --external-memory-accounted-in-global-limit "$@"
