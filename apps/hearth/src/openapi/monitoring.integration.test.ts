import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { recordFigure } from "@hearth-and-keep/figures";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { startTestServer, type TestServer, tiny } from "../test/start-test-server.ts";

const root = join(import.meta.dirname, "../../../..");
const run = promisify(execFile);

type Panel = { readonly title: string; readonly targets?: readonly { readonly expr: string }[] };

async function readDashboard(): Promise<readonly Panel[]> {
  const text = await readFile(join(root, "deploy/grafana/hearth-dashboard.json"), "utf8");
  // Grafana's format; only what is used here.
  return (JSON.parse(text) as { readonly panels: readonly Panel[] }).panels;
}

async function readExpressions(): Promise<readonly string[]> {
  return (await readDashboard()).flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}

/** The names of metrics, without the suffixes of a histogram's series. */
function metricsIn(text: string): ReadonlySet<string> {
  const names = text.match(/\b(?:hearth_[a-z_]+|vllm:[a-z_]+)/gu) ?? [];
  return new Set(names.map((name) => name.replace(/_(?:bucket|sum|count)$/u, "")));
}

async function metricsOf({
  url,
}: TestServer): Promise<{ readonly text: string; readonly names: Set<string> }> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return { text, names: new Set([...text.matchAll(/^# TYPE (\S+)/gmu)].map(([, name = ""]) => name)) };
}

test("promtool accepts the alert rules, and each fires when it should and not before", async () => {
  const folder = join(root, "deploy/prometheus");
  const { stdout } = await run("promtool", ["check", "rules", "hearth-alerts.yml"], { cwd: folder });
  const [, count = "0"] = /SUCCESS: (\d+) rules found/u.exec(stdout) ?? [];
  await run("promtool", ["test", "rules", "hearth-alerts.test.yml"], { cwd: folder });
  const rules = await readFile(join(folder, "hearth-alerts.yml"), "utf8");
  const cases = await readFile(join(folder, "hearth-alerts.test.yml"), "utf8");
  const alerts = [...rules.matchAll(/- alert: (\w+)/gu)].map(([, name = ""]) => name);
  for (const alert of alerts) expect(cases).toContain(`alertname: ${alert}`);
  recordFigure({
    claim: "share 9",
    text: `promtool accepts ${count} of ${alerts.length} alert rules, and evaluates each of them on made-up series as expected`,
    counted: { reached: Number(count), needed: Math.max(8, alerts.length) },
  });
});

test("promtool rejects a rule that is not valid", async () => {
  await using folder = await makeTemporaryFolder("rules");
  const file = join(folder.path, "broken.yml");
  await writeFile(file, "groups:\n  - name: broken\n    rules:\n      - { alert: A, expr: 'sum(hearth_' }\n");
  await expect(run("promtool", ["check", "rules", file])).rejects.toThrow("promtool");
});

test("promtool parses every expression of the dashboard", async () => {
  const expressions = await readExpressions();
  const rules = expressions.map((expression, index) => {
    const expr = expression.replaceAll("$__rate_interval", "5m").replaceAll("$instance", ".*");
    return `      - { record: "panel:expression:${index}", expr: ${JSON.stringify(expr)} }\n`;
  });
  await using folder = await makeTemporaryFolder("expressions");
  const file = join(folder.path, "expressions.yml");
  await writeFile(file, `groups:\n  - name: dashboard\n    rules:\n${rules.join("")}`);
  const { stdout } = await run("promtool", ["check", "rules", file]);
  const [, count = "0"] = /SUCCESS: (\d+) rules found/u.exec(stdout) ?? [];
  recordFigure({
    claim: "share 9",
    text: `promtool parses ${count} of ${expressions.length} expressions of the dashboard`,
    counted: { reached: Number(count), needed: Math.max(15, expressions.length) },
  });
  expect(Number(count)).toBe(expressions.length);
});

test("every metric is documented and present, and those of the dashboard and the rules exist", async () => {
  await using server = await startTestServer({ models: {}, script: () => [] });
  const { names } = await metricsOf(server);
  const page = await readFile(join(root, "docs/hearth/monitoring.md"), "utf8");
  const documented = new Set([...page.matchAll(/^\| `([^`]+)` \|/gmu)].map(([, name = ""]) => name));
  expect(documented).toEqual(names);
  const rules = await readFile(join(root, "deploy/prometheus/hearth-alerts.yml"), "utf8");
  const used = metricsIn([rules, ...(await readExpressions())].join("\n"));
  expect([...used].filter((name) => !names.has(name))).toEqual([]);
  recordFigure({
    claim: "share 9",
    text: `${documented.size} of ${names.size} metrics are documented and present; the dashboard and the rules use ${used.size} of them`,
    counted: { reached: documented.intersection(names).size, needed: Math.max(20, names.size) },
  });
});

const script = () =>
  [
    { do: "write", text: "Hello" },
    { do: "end", reason: "stop" },
  ] as const;

test("names of models in requests create no series", async () => {
  await using server = await startTestServer({ models: { tiny }, script });
  const post = async (path: string, model: string): Promise<number> => {
    const body = JSON.stringify({ model, max_tokens: 1, messages: [{ role: "user", content: "x" }] });
    const response = await fetch(server.url + path, { method: "POST", body });
    await response.text();
    return response.status;
  };
  const paths = ["/api/chat", "/v1/chat/completions", "/alt/v1/messages"];
  for (const path of paths) {
    expect(await post(path, "tiny")).toBe(200);
    expect(await post(path, "missing")).toBe(404);
  }
  await post("/unknown/path-0", "tiny");
  const before = await metricsOf(server);
  for (let number = 0; number < 60; number += 1) {
    const path = paths[number % paths.length] ?? "";
    expect(await post(path, `made-up-${number}`)).toBe(404);
    await post(`/unknown/path-${number}`, "tiny");
  }
  const after = await metricsOf(server);
  expect(after.text.split("\n").length).toBeLessThanOrEqual(before.text.split("\n").length + 30);
  expect(after.text).not.toMatch(/made-up|unknown\/path/u);
});
