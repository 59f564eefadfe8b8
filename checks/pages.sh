#!/usr/bin/env bash
# Audits pages by Lighthouse, on a server of its own: prints the scores of accessibility, best practices and search engines, and fails where
# one is below 100. It needs Chromium, which CHROMIUM may name, jq, the packages of `npm ci`, and the network for the npm package lighthouse.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/node_modules/.bin:$PATH CHROME_PATH=${CHROMIUM:-$(command -v chromium)}

work=$(mktemp -d)
chmod 755 "$work"
port=$((20000 + RANDOM % 10000))
origin=http://localhost:$port
cleanUp() {
  kill ${server-} ${styles-} 2> /dev/null || true
  wait
  rm -rf "$work"
}
trap cleanUp EXIT

# A style without a source of tiles: pages have a map, and no network is asked.
echo '{ "version": 8, "sources": {}, "layers": [] }' > "$work/style.json"
python3 -m http.server --bind 127.0.0.1 --directory "$work" $((port + 1)) > /dev/null 2>&1 &
styles=$!
DATA_DIR=$work/data PORT=$port MAP_STYLE_URL=http://127.0.0.1:$((port + 1))/style.json npm run --silent dev > "$work/log" 2>&1 &
server=$!
curl --silent --fail --output /dev/null --retry 120 --retry-all-errors --retry-delay 1 "$origin/health/ready" || { cat "$work/log"; exit 1; }

call() { curl --silent --fail "$origin/api/v1$1" --header 'Content-Type: application/json' --header "Authorization: Bearer ${session-}" --data "$2"; }
call /auth/signup-email '{ "email": "ada@example.com", "password": "a long enough password" }' > /dev/null
until token=$(grep --only-matching --max-count=1 'token=[A-Za-z0-9_-]*' "$work/data/mailbox.log" 2> /dev/null); do sleep 0.2; done
session=$(call /auth/verify-email "{ \"token\": \"${token#token=}\" }" | jq --raw-output .accessToken)
route() {
  call /routes "{ \"name\": \"Around Vaduz\", \"activity\": \"cycle\", \"visibility\": \"$1\",
    \"waypoints\": [{ \"coord\": [9.5209, 47.1415], \"type\": \"routed\", \"name\": \"Start\" }],
    \"geometry\": [[9.5209, 47.1415, 455], [9.5254, 47.1440, 461], [9.5300, 47.1501, 470]] }"
}
listed=$(route public | jq .id)
unlisted=$(route unlisted | jq --raw-output .shareToken)

# Root, such as in a container, may not use Chromium's sandbox.
flags=--headless=new
if [ "$(id -u)" = 0 ]; then flags+=' --no-sandbox'; fi

failed=0
audit() {
  npx --yes lighthouse@13.5.0 "$origin$1" --quiet --chrome-flags="$flags" --output=json --output-path="$work/report.json" "${@:3}"
  jq --raw-output '.categories | [.["accessibility"], .["best-practices"], .seo, .performance] | map("\(.title) \(.score * 100 | round)") | join(", ")' \
    "$work/report.json" | sed "s|^|$1: |"
  for category in $2; do jq --exit-status ".categories[\"$category\"].score == 1" "$work/report.json" > /dev/null || failed=1; done
}
for page in / /sign-in "/r/$listed"; do audit "$page" "accessibility best-practices seo"; done
# Search engines are asked not to list it, which that score counts against it.
audit "/r/$unlisted" "accessibility best-practices"
echo "{ \"Cookie\": \"__Host-service_session=$session\" }" > "$work/headers.json"
for page in /me/routes "/me/routes/$listed" /me/profile /me/tokens; do
  audit "$page" "accessibility best-practices seo" --extra-headers="$work/headers.json"
done
exit "$failed"
