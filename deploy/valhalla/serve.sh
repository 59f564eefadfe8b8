#!/bin/sh
# Serves the roads of one extract on port 8002. Its tiles are built at the first start: beside and renamed, so that half
# of them is never taken for the whole.
set -eu

extracts=/extract
tiles=/tiles

set -- "$extracts"/*.osm.pbf
if [ $# -ne 1 ] || [ ! -f "$1" ]; then
  echo "there must be exactly one file *.osm.pbf in $extracts" >&2
  exit 1
fi

programs=$(python -c 'import valhalla; print(valhalla.__path__[0])')/bin
settings=$(mktemp)

configure() {
  valhalla_build_config --mjolnir-tile-dir "$1" --mjolnir-tile-extract "" --logging-color false > "$settings"
}

built=$tiles/$(sha256sum "$1" | cut -c1-12)
if [ ! -d "$built" ]; then
  rm -rf "$tiles/draft"
  mkdir "$tiles/draft"
  configure "$tiles/draft"
  "$programs/valhalla_build_tiles" -c "$settings" "$1"
  mv "$tiles/draft" "$built"
fi

configure "$built"
exec "$programs/valhalla_service" "$settings" "${ENGINE_THREADS:-$(nproc)}"
