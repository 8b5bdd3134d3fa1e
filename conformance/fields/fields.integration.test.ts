import { readFileSync } from "node:fs";
import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import type { Protocol } from "../../apps/hearth/src/protocol.ts";
import {
  startTestServer,
  tiny,
  tinyAudio,
  tinyVision,
} from "../../apps/hearth/src/test/start-test-server.ts";
import { findShapeFault } from "../robustness/error-shape.ts";
import { createSmallResponseStore } from "../robustness/small-response-store.ts";
import { type Accounts, accountForFields, type FieldRow, type FieldState } from "./account-for-fields.ts";
import { anthropicFields } from "./anthropic.ts";
import { ollamaFields } from "./ollama.ts";
import { openaiFields } from "./openai.ts";
import { readAnthropicTypes, readOllamaTypes, readOpenAITypes } from "./read-client-types.ts";
import { createFieldSender, type FieldResponse, type FieldSender, headerNames } from "./send-field.ts";
import { pagePath, renderPage } from "./write-page.ts";

type Family = { readonly name: Protocol["name"]; readonly accounts: Accounts };

const families: readonly Family[] = [
  { name: "openai", accounts: accountForFields(readOpenAITypes(), openaiFields) },
  { name: "anthropic", accounts: accountForFields(readAnthropicTypes(), anthropicFields) },
  { name: "ollama", accounts: accountForFields(readOllamaTypes(), ollamaFields) },
];

function startServer() {
  return startTestServer({
    models: {
      tiny: tinyVision,
      hearing: tinyAudio,
      coder: { ...tiny, extras: { template: "{{ .Prompt }}{{ .Suffix }}" } },
    },
    script: () => [
      { do: "write", text: "Hello" },
      { do: "end", reason: "stop" },
    ],
    description: { splitsEvents: true, limitsReasoning: true },
    responses: createSmallResponseStore(),
    isOffline: true,
    transferLimits: {
      retryPolicy: { maxAttempts: 1, initialDelayMilliseconds: 1, maxDelayMilliseconds: 1 },
    },
    discardsLog: true,
  });
}

function senderFor({ name }: Family, url: string): FieldSender {
  return createFieldSender(url, name === "anthropic" ? { "anthropic-version": "2023-06-01" } : {});
}

/** The kind of names and the name by which a row is ignored. */
function ignoredNameOf({ name, location }: FieldRow): readonly [kind: string, name: string] {
  const [path = "", variant] = name.split(":");
  if (variant !== undefined) return [path === "tools" ? "tools" : "blocks", variant];
  return ["fields", location === "header" ? (headerNames[name] ?? name) : name];
}

/** How a response deviates from what the table says about a row; undefined if it does not. */
function findFault(row: FieldRow, response: FieldResponse): string | undefined {
  const [kind, name] = ignoredNameOf(row);
  const isNamed = response.ignored.get(kind)?.includes(name) === true;
  const isAsListed: Readonly<Record<FieldState, boolean>> = {
    supported: response.status === 200 && !isNamed,
    ignored: response.status === 200 && isNamed,
    refused: response.status === 400 && response.body.length > 20,
  };
  if (isAsListed[row.state]) return undefined;
  const was = `${response.status}, ${isNamed ? "named" : "not named"}`;
  return `${row.endpoint} ${row.name}, ${row.state}: ${was}, ${response.body.slice(0, 200)}`;
}

test.for(families)(
  "every endpoint and field in the types of the $name client is in the table, and no other",
  ({ accounts: { missing, unknown } }) => {
    expect({ missing, unknown }).toEqual({ missing: [], unknown: [] });
  },
);

test("the page lists the same fields", () => {
  expect(readFileSync(pagePath, "utf8")).toBe(renderPage());
});

test("the counts of endpoints and fields", () => {
  const rows = families.flatMap(({ accounts }) => accounts.rows);
  const unserved = families.flatMap(({ accounts }) => accounts.refusedEndpoints);
  const endpoints = families.reduce((sum, { accounts }) => sum + accounts.endpointCount, 0);
  const ofUnserved = unserved.reduce((sum, { fieldCount }) => sum + fieldCount, 0);
  const count = (state: FieldState): number => rows.filter((row) => row.state === state).length;
  const unaccounted = families.flatMap(({ accounts }) => accounts.missing).length;
  const total = rows.length + ofUnserved;
  expect(count("supported")).toBeGreaterThan(300);
  recordFigure({
    claim: "agents 3",
    text:
      `${endpoints} endpoints (${endpoints - unserved.length} served, ${unserved.length} refused), ${total} fields: ` +
      `${count("supported")} supported, ${count("ignored")} ignored, ${count("refused") + ofUnserved} refused ` +
      `(${ofUnserved} of endpoints that are not served); ${unaccounted} unaccounted`,
    counted: { reached: total, needed: total + unaccounted },
  });
});

test.for(families)("a server treats every field of the $name client as the table says", async (family) => {
  await using server = await startServer();
  const { sendField, sendValid } = senderFor(family, server.url);
  const { rows } = family.accounts;
  const faults: string[] = [];
  for (const endpoint of new Set(rows.map((row) => row.endpoint))) {
    const { status, ignored, body } = await sendValid(endpoint);
    if (status !== 200 || ignored.size > 0)
      faults.push(`${endpoint}: ${status} ${[...ignored.keys()].join(" ")} ${body.slice(0, 200)}`);
  }
  for (const row of rows)
    faults.push(...[findFault(row, await sendField(row))].filter((fault) => fault !== undefined));
  expect(faults).toEqual([]);
  recordFigure({
    claim: "agents 3",
    text: `${rows.length} fields of the ${family.name} client sent to a server are treated as the table says`,
    counted: { reached: rows.length - faults.length, needed: rows.length },
  });
});

test.for(families)(
  "endpoints of the $name client that are not served have an error in its format",
  async (family) => {
    await using server = await startServer();
    const { sendUnserved } = senderFor(family, server.url);
    const { refusedEndpoints } = family.accounts;
    const faults: string[] = [];
    for (const { name } of refusedEndpoints) {
      const response = await sendUnserved(name);
      const isRefused = [400, 404, 405, 501].includes(response.status);
      const protocol = name.includes(" /v1/") && family.name === "ollama" ? "openai" : family.name;
      const fault = isRefused ? findShapeFault(protocol, response) : `status ${response.status}`;
      if (fault !== undefined) faults.push(`${name}: ${fault}`);
    }
    expect(faults).toEqual([]);
    recordFigure({
      claim: "agents 3",
      text: `${refusedEndpoints.length} endpoints of the ${family.name} client that are not served have an error in its format`,
      counted: { reached: refusedEndpoints.length - faults.length, needed: refusedEndpoints.length },
    });
  },
);

test("a stream names what it ignores before its first byte, and scripts in pages may read it", async () => {
  await using server = await startServer();
  const messages = [{ role: "user", content: "Hi" }];
  const unknown = 'fields=("of_the_future")';
  const format = { type: "array", uniqueItems: true };
  const streams = [
    ["/api/generate", { prompt: "Hi" }, unknown],
    ["/api/chat", { messages, format }, `${unknown}, keywords=("uniqueItems")`],
    ["/v1/completions", { prompt: "Hi" }, unknown],
    ["/v1/chat/completions", { messages, user: "me" }, 'fields=("of_the_future" "user")'],
    ["/v1/responses", { input: "Hi", tools: [{ type: "mcp" }] }, `${unknown}, tools=("mcp")`],
    ["/v1/messages", { messages, max_tokens: 8 }, unknown],
  ] as const;
  for (const [path, body, expected] of streams) {
    const response = await fetch(server.url + path, {
      method: "POST",
      headers: { origin: server.url },
      body: JSON.stringify({ model: "tiny", stream: true, of_the_future: 1, ...body }),
    });
    const { status, headers } = response;
    expect({ path, status, named: headers.get("hearth-ignored") }).toEqual({
      path,
      status: 200,
      named: expected,
    });
    expect(headers.get("access-control-expose-headers")).toContain("hearth-ignored");
    await response.text();
  }
});
