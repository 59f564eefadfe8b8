#!/usr/bin/env bash
# Runs in the machine of checks/hosting.sh: first the blocks that need a network ("packages"), then, after a boot, the others ("check").
set -euo pipefail
cd /check
export DEBIAN_FRONTEND=noninteractive LANG=C.UTF-8

service=/opt/route-planning-service
node=$service/node_modules/.bin/node

fail() {
  echo "FAILED: $*"
  exit 1
}

people() {
  NODE_EXTRA_CA_CERTS=/check/root.pem "$node" /check/hostingPeople.ts "$@"
}

served() { openssl s_client -connect 127.0.0.1:443 -servername "$DOMAIN" < /dev/null 2> /dev/null | openssl x509 -noout -serial; }

# Both processes run that commit, and the service is there.
runs() {
  for port in 3000 3001; do
    curl --silent --retry 120 --retry-all-errors --retry-delay 1 --fail --output /dev/null "http://127.0.0.1:$port/health/ready"
    journalctl --unit="route-planning-service@$port" --output=cat | grep '"message":"starting"' | tail -n 1 | grep --quiet "$1" || fail "$port runs another commit"
  done
  people find "https://$DOMAIN" || fail "the route is gone"
}

# What is true after a block that has these words, and what people do then.
after() {
  case $(cat "$1") in
    *DOMAIN=routes*)
      export DOMAIN=routes.test ADMIN=ada@routes.test SMTP_URL=smtp://127.0.0.1:2525 SOURCE=/srv/source.git
      ;;
    *"git pull"*)
      COMMIT=$(grep --max-count=1 --line-regexp --extended-regexp '[0-9a-f]{40}' "$2")
      grep --quiet '^+Description=.*(next)' "$2" || fail "the change of the unit is not shown"
      runs "$(git --git-dir=/srv/source.git rev-parse next)"
      ;;
    *"git reset"*)
      runs "$COMMIT"
      journalctl --unit=route-planning-service@3000 --output=cat | grep --max-count=1 'the database is of a newer version' || fail "no newer database"
      ;;
    *"npm run setup"*)
      [ "$(stat --format='%a %U' $service/.env)" = "600 route-planning-service" ] || fail "the mode or the owner of .env"
      ;;
    *"certbot certonly"*)
      curl --silent --insecure https://127.0.0.1:15000/roots/0 > /check/root.pem
      systemctl is-active --quiet certbot.timer || fail "the timer of certbot"
      first=$(served)
      systemctl start certbot.service
      for _ in $(seq 100); do [ "$(served)" != "$first" ] && break; sleep 0.1; done
      [ "$(served)" != "$first" ] || fail "certbot renewed nothing"
      ;;
    *health/ready*)
      for unit in route-planning-service@3000 route-planning-service@3001; do
        systemctl is-active --quiet "$unit" || fail "$unit"
        journalctl --unit="$unit" --output=cat | grep '"message":"starting"' || fail "the line of the start"
        process=/proc/$(systemctl show --value --property=MainPID "$unit")
        grep VmRSS "$process/status"
        temporary=$(tr '\0' '\n' < "$process/environ" | sed -n 's/^TMPDIR=//p')
        [ "$(stat --file-system --format=%T "$process/root${temporary:-/tmp}")" != tmpfs ] || fail "uploads lie in memory"
      done
      systemd-analyze security --no-pager route-planning-service@3000 | tail -n 1
      [ "$(curl --silent --output /dev/null --write-out '%{http_code}' "http://$DOMAIN/")" = 308 ] || fail "HTTP is not redirected"
      [ "$(curl --silent --insecure --output /dev/null --write-out '%{http_code}' "https://$DOMAIN/metrics")" = 404 ] || fail "metrics"
      # What the documents have in the midst of sentences for who is on call.
      export REDIS_URL=redis://127.0.0.1:6379
      mapfile -t commands < <(grep --no-filename --only-matching --extended-regexp '`(systemctl status|redis-cli|journalctl) [^`]+`' $service/docs/{runbook,hosting}.md | tr -d '`')
      [ ${#commands[@]} = 3 ] || fail "the documents have ${#commands[@]} such commands: ${commands[*]}"
      for command in "${commands[@]}"; do
        bash -euc "$command" > /check/said || fail "$command"
        echo "$command: $(head -n 3 /check/said | tail -n 1)"
      done
      ;;
    *"user -- create"*)
      people join "https://$DOMAIN" "$ADMIN" "$(grep --only-matching 'https://[^ ]*token=[^ ]*' "$2")" || fail "people cannot join"
      ;;
    *"systemctl start route-planning-service-backup"*)
      journalctl --unit=route-planning-service-backup --output=cat | grep 'restored on trial: 2 users, 1 routes' || fail "the backup"
      old=/var/lib/route-planning-service-backups/route-planning-service-20200101T000000Z.dump
      touch --date='16 days ago' "$old"
      systemctl start route-planning-service-backup
      [ ! -e "$old" ] || fail "a backup of 16 days ago is kept"
      people remove "https://$DOMAIN"
      ;;
    *restore.sh*)
      curl --silent --insecure --retry 120 --retry-all-errors --retry-delay 1 --fail --output /dev/null "https://$DOMAIN/health/ready"
      people find "https://$DOMAIN" || fail "the restored route"
      git --git-dir=/srv/source.git update-ref HEAD next
      ;;
  esac
}

# An authority, whose certificates expire so soon that the first run of certbot's timer renews them. By default it refuses requests at random.
acme() {
  cd /check
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -keyout pebble.key -out pebble.pem 2> /dev/null
  cat > pebble.json << 'JSON'
{ "pebble": {
  "listenAddress": "127.0.0.1:14000", "managementListenAddress": "127.0.0.1:15000", "certificate": "pebble.pem", "privateKey": "pebble.key",
  "httpPort": 80, "tlsPort": 443, "profiles": { "default": { "description": "short", "validityPeriod": 864000 } } } }
JSON
  printf 'server = https://localhost:14000/dir\nno-verify-ssl = true\n' >> /etc/letsencrypt/cli.ini
  PEBBLE_VA_NOSLEEP=1 PEBBLE_WFE_NONCEREJECT=0 ./pebble -config pebble.json > pebble.log 2>&1
}

blocks() {
  for block in "$@"; do
    began=$SECONDS
    echo "== $(basename "$block")"
    # In this shell: blocks set variables and change the directory for those that follow. A failure ends it.
    trap 'cat "$block.log" "$block"; journalctl --lines=60 --no-pager --unit="route-planning-service*" --unit="postgresql*"' EXIT
    . "$block" > "$block.log" 2>&1
    trap - EXIT
    tail -n 5 "$block.log"
    after "$block" "$block.log"
    echo "-- $((SECONDS - began)) s"
  done
}

last=$(grep --files-with-matches 'npm ci' /check/block-?? | head -n 1)
if [ "$1" = packages ]; then
  export NPM_CONFIG_CAFILE=/check/ca-certificates.crt
  needed=()
  for block in /check/block-??; do [[ $block > $last ]] || needed+=("$block"); done
  blocks "${needed[@]}"
  # Debian takes the next port where this network, which is not yet the machine's own, has a server on that of PostgreSQL.
  sed -i 's/^port = .*/port = 5432/' /etc/postgresql/*/main/postgresql.conf
  exit
fi

after /check/block-01
cd $service
echo "127.0.0.1 localhost $DOMAIN" > /etc/hosts
"$node" /check/hostingPeople.ts mails &
acme &
# There is no network: what was installed before is in the cache.
export NPM_CONFIG_OFFLINE=true
rest=()
for block in /check/block-??; do [[ $block > $last ]] && rest+=("$block"); done
blocks "${rest[@]}"
touch /check/passed
