import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { spawnSync } from "node:child_process"
import { globSync, readFileSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"

const ROOT = resolve(import.meta.dirname, "../..")
const PROMETHEUS = join(ROOT, "deploy", "prometheus")

const textOf = (file: string) => readFileSync(join(ROOT, file), "utf8")

const promtool = (...args: ReadonlyArray<string>) => spawnSync("promtool", args, { encoding: "utf8", cwd: PROMETHEUS })

const hasPromtool = promtool("--version").error === undefined

/** The service defines these metrics, or Prometheus makes them of a histogram or adds them by itself. */
const exported = new Set([
  ...globSync("src/**/*.ts", { cwd: ROOT }).flatMap((file) =>
    [...textOf(file).matchAll(/\b(counter|countersBy|gauge|histogram)\(\s*"([a-z0-9_]+)"/g)].flatMap((
      [, kind, name = ""]
    ) => kind === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name])
  ),
  "up",
  "ALERTS"
])

const Panel = Schema.Struct({
  id: Schema.Number,
  title: Schema.String,
  gridPos: Schema.Struct({ x: Schema.Number, y: Schema.Number, w: Schema.Number, h: Schema.Number }),
  targets: Schema.optionalKey(Schema.Array(Schema.Struct({ expr: Schema.String })))
})
const Dashboard = Schema.Struct({ title: Schema.String, panels: Schema.Array(Panel) })

const { panels, title } = Schema.decodeUnknownSync(Schema.fromJsonString(Dashboard))(
  textOf("deploy/grafana/dashboards/route-planning-service.json")
)

/** Prometheus gets the expressions so: Grafana puts in the values of its variables. */
const askedBy = ({ targets = [] }: typeof Panel.Type) =>
  targets.map(({ expr }) => expr.replaceAll("$__rate_interval", "1m").replaceAll("$instance", ".*"))

const asked = panels.flatMap(askedBy)

const alerting = [...textOf("deploy/prometheus/alerts.yml").matchAll(/^ +expr: (?:>-\n((?: {10}.*\n)+)|(.*)\n)/gm)]
  .map(([, folded, plain]) => folded ?? plain ?? "")

const NO_METRIC = /"[^"]*"|\b(?:by|on|without|ignoring|group_left|group_right)\s*\([^)]*\)|\[[^\]]*\]/g

/** Returns the metrics of an expression: its words that are no label, function or operator. */
const metricsOf = (expr: string) =>
  [...expr.replaceAll(NO_METRIC, "").replaceAll(/\{[^}]*\}/g, "").matchAll(/\b[a-zA-Z_]\w*\b(?!\s*\()/g)]
    .map(([word]) => word)
    .filter((word) => !["and", "or", "unless", "by"].includes(word))

describe("the dashboard and the alerts", () => {
  it("ask for metrics that the service has, and for each of them", () => {
    const used = [...asked, ...alerting].flatMap(metricsOf)
    assert.isAbove(asked.length, 30)
    assert.isAbove(alerting.length, 8)
    assert.deepStrictEqual([...new Set(used)].filter((name) => !exported.has(name)), [])
    const shown = new Set(asked.flatMap(metricsOf))
    // Requests have a counter by status, and the version is asked for when it is needed.
    assert.sameMembers([...exported].filter((name) => !name.endsWith("_sum") && !shown.has(name)), [
      "password_hash_duration_seconds_count",
      "http_server_request_duration_seconds_count",
      "service_build_info"
    ])
  })

  it("have a heading of the runbook for each alert, and no other", () => {
    const alerts = [...textOf("deploy/prometheus/alerts.yml").matchAll(/- alert: (\w+)[\s\S]*?runbook_url: (\S+)/g)]
    assert.isAbove(alerts.length, 8)
    for (const [, name = "", url] of alerts) assert.strictEqual(url, `docs/runbook.md#${name.toLowerCase()}`)
    const [, section = ""] = textOf("docs/runbook.md").split(/^## (?:Alerts|Questions)$/m)
    const headings = [...section.matchAll(/^### (\w+)$/gm)].map(([, heading]) => heading)
    assert.sameMembers(headings, alerts.map(([, name]) => name))
  })

  it("are provoked by a test each, and stay silent in one where all is well", () => {
    const [well = "", ...provoked] = textOf("deploy/prometheus/alerts.test.yml").split(/^ {2}- name: /m).slice(1)
    const alertsIn = (text: string) => [...text.matchAll(/alertname: (\w+)/g)].map(([, name = ""]) => name)
    const fired = new Set(provoked.filter((text) => /exp_alerts:\n +- exp_labels:/.test(text)).flatMap(alertsIn))
    const alerts = [...textOf("deploy/prometheus/alerts.yml").matchAll(/- alert: (\w+)/g)].map(([, name = ""]) => name)
    assert.isAbove(alerts.length, 8)
    assert.deepStrictEqual(alerts.filter((name) => !fired.has(name)), [])
    assert.includeMembers(alertsIn(well), alerts)
  })

  it("are laid out without one panel over another", () => {
    assert.strictEqual(title, "Route Planning Service")
    const cells = panels.flatMap(({ gridPos: { h, w, x, y } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + cell % w},${y + Math.floor(cell / w)}`)
    )
    assert.strictEqual(new Set(cells).size, cells.length)
    assert.isTrue(panels.every(({ gridPos: { w, x } }) => x + w <= 24))
    assert.strictEqual(new Set(panels.map(({ id }) => id)).size, panels.length)
  })

  it.effect.skipIf(!hasPromtool)(
    "are what promtool (of Debian's package prometheus) takes",
    () =>
      Effect.gen(function*() {
        const file = join(yield* temporaryDirectory, "dashboard.json")
        const rules = asked.map((expr, index) => ({ record: `dashboard:${index}`, expr }))
        yield* Effect.promise(() => writeFile(file, JSON.stringify({ groups: [{ name: "dashboard", rules }] })))
        // An idle process has a rate of 0 of each of its routes.
        const idle = (panel: string, ...exp_samples: ReadonlyArray<unknown>) => ({
          expr: panels.filter(({ title }) => title === panel).flatMap(askedBy)[0],
          eval_time: "10m",
          exp_samples
        })
        const tests = [{
          interval: "15s",
          input_series: ["2xx", "5xx"].map((status) => ({
            series: `http_server_requests_total{route="/api/v1/routes",status="${status}"}`,
            values: "7x60"
          })),
          promql_expr_test: [
            idle("Errors", { labels: "{}", value: 0 }),
            idle("Rate by route"),
            idle("Errors by route")
          ]
        }]
        const idleFile = join(dirname(file), "idle.json")
        yield* Effect.promise(() => writeFile(idleFile, JSON.stringify({ tests })))
        const runs = [["check", "rules", file], ["check", "config", "prometheus.yml"], [
          "test",
          "rules",
          "alerts.test.yml"
        ], ["test", "rules", idleFile]]
        for (const args of runs) {
          const { status, stderr, stdout } = promtool(...args)
          assert.strictEqual(status, 0, stdout + stderr)
        }
      })
  )
})
