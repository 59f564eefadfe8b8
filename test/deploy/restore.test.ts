import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { chownSync, globSync, readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { postgresOwner } from "../../development/PostgresBinaries.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"

const SCRIPTS = resolve(import.meta.dirname, "../../deploy/ha")

/** The programs of the npm package lack pg_basebackup and psql. */
const BIN = globSync("/usr/lib/postgresql/*/bin").find((bin) => globSync(join(bin, "{initdb,psql}")).length === 2)

/** The page's commands by which a cluster goes on from a restore, but for those that need Patroni. */
const goOn = (/```sh\n(mv (?:.+\n)+?)\/opt\/patroni/.exec(readFileSync(join(SCRIPTS, "README.md"), "utf8"))?.[1] ?? "")
  .replaceAll(/\/var\/lib\/postgresql\/(?:routes\/)?|\/mnt\//g, "")

/** A directory with an archive, in which a server writes. The commands of `run` have its name of a setting. */
const archived = Effect.gen(function*() {
  const directory = yield* temporaryDirectory
  const owner = yield* Effect.promise(postgresOwner)
  if (owner !== undefined) chownSync(directory, owner.uid, owner.gid)
  writeFileSync(join(directory, "settings"), `BIN=${BIN}\nARCHIVE=${directory}/archive\n`)
  const run = (commands: string) =>
    Effect.callback<{ readonly code: unknown; readonly stderr: string; readonly stdout: string }>((resume) => {
      const env = { PATH: `${BIN}:${process.env["PATH"]}`, SCRIPTS, PGHOST: directory, PGUSER: "postgres" }
      const script = `
        start() { pg_ctl --pgdata=data --log=data/log start; }
        runuser() { shift 3; "$@"; }
        ask() { psql --dbname=routes --no-align --tuples-only --quiet --command="$1"; }
        archive() { ask "SELECT pg_switch_wal()"; pg_ctl --pgdata=data stop; }
        ${commands}`
      execFile(
        "sh",
        ["-euc", script],
        { ...owner, cwd: directory, env },
        (error, stdout, stderr) => resume(Effect.succeed({ code: error?.code ?? 0, stderr, stdout }))
      )
    })
  yield* Effect.addFinalizer(() => run("pg_ctl --pgdata=data --mode=immediate stop"))
  const { code, stderr } = yield* run(`
    initdb --pgdata=data --username=postgres --auth=trust --no-sync --wal-segsize=1
    cat >> data/postgresql.conf << END
      listen_addresses = ''
      unix_socket_directories = '$PGHOST'
      fsync = off
      archive_mode = on
      archive_command = 'ARCHIVE=$PGHOST/archive NAME=one sh $SCRIPTS/archive.sh %p %f'
    END
    mkdir -p archive/wal archive/base
    start
    createdb routes
    ask "CREATE TABLE change_epochs (epoch uuid); CREATE TABLE routes (name text)"
    pg_basebackup --checkpoint=fast --format=tar --gzip --pgdata=archive/base/20260101T000000Z
    ask "INSERT INTO routes VALUES ('first')"
    archive`.replaceAll(/^ {4}(?=END$)/gm, ""))
  assert.strictEqual(code, 0, stderr)
  return run
})

it.live.skipIf(BIN === undefined)(
  "a restore has what was written since the cluster went on from another",
  () =>
    Effect.gen(function*() {
      const run = yield* archived
      const { code, stderr, stdout } = yield* run(`
        restore() { sh $SCRIPTS/restore.sh settings restored; }
        restore
        ${goOn}
        # Patroni starts it as a standby, which it promotes.
        touch data/standby.signal
        start
        pg_ctl --pgdata=data promote
        ask "INSERT INTO routes VALUES ('second')"
        archive
        restore
        echo "SELECT name FROM routes" | postgres --single -D restored routes`)
      assert.strictEqual(code, 0, stderr)
      assert.match(stdout, /"first"[^]*"second"/)
    }).pipe(Effect.scoped)
)

it.live.skipIf(BIN === undefined)(
  "a restore to a time after all that was archived says so",
  () =>
    Effect.gen(function*() {
      const run = yield* archived
      const { code, stderr } = yield* run("sh $SCRIPTS/restore.sh settings restored '2100-01-01 UTC'")
      assert.strictEqual(code, 1)
      assert.match(
        stderr,
        /^\S+ \S+ \S+ \[\d+\] FATAL: +recovery ended before configured recovery target was reached$/m
      )
      assert.include(stderr, "leave the time out")
    }).pipe(Effect.scoped)
)
