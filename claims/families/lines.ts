/**
 * @module
 * The claims about the Ollama, OpenAI and Anthropic APIs: conformance to the specification, official clients, access
 * control, robustness against malformed requests and crashes, and little overhead over the engine.
 * Imported by `claims/all-lines.ts`.
 */
import type { Need, ShowLine } from "../line.ts";
import { type Claim, claimLines } from "../prove-by-tests.ts";
import { testsNamedIn } from "./tests-named-in.ts";

const everything: readonly Need[] = ["debian packages", "python", "test models"];
const source = "apps/hearth/src";
const robustness = "conformance/robustness";

/** Clients from npm, by the name of their test file. */
const npmClients = [
  "ai-anthropic",
  "ai-openai-compatible",
  "anthropic",
  "langchain-ollama",
  "langchain-openai",
  "ollama",
  "openai",
  "openai-endpoints",
];

/** Line numbers follow this order. */
const claims: readonly Claim[] = [
  {
    title: "Every row and statement of the specification, and every route, is covered by a test",
    paths: testsNamedIn("docs/hearth/compatibility.md"),
  },
  {
    title: "The known bugs of comparable servers are absent, each covered by a test named after its symptom",
    paths: [
      "conformance/raw/",
      "conformance/anthropic-npm.model.test.ts",
      "conformance/openai-npm.model.test.ts",
      "conformance/openai-endpoints-npm.model.test.ts",
      `${source}/dialects/`,
      `${source}/access/preflight.model.test.ts`,
    ],
  },
  {
    title: "The official clients from npm and PyPI work, with every call each of them offers",
    paths: [...npmClients.map((name) => `conformance/${name}-npm.model.test.ts`), "conformance/python/"],
  },
  {
    title:
      "Every route requires the API key, in every form and path spelling, as the reviewed table specifies",
    paths: [`${source}/access/access-matrix.model.test.ts`, `${source}/access/keys.model.test.ts`],
  },
  {
    title: "Hosts and origins are allowed or rejected as the reviewed file specifies",
    paths: [`${source}/access/sites.model.test.ts`, `${source}/access/preflight.model.test.ts`],
  },
  {
    title: "Malformed requests get errors in the format of their API, and neither crash nor bloat the server",
    paths: [
      `${robustness}/malformed-requests.model.test.ts`,
      `${robustness}/documents-under-attack.model.test.ts`,
    ],
  },
  {
    title: "When a worker dies mid-stream, every official client throws",
    paths: [`${robustness}/worker-death.model.test.ts`],
  },
  {
    title:
      "Streaming over HTTP is nearly as fast as at the engine port, with one and 32 streams, in each API",
    paths: ["bench/socket-against-port.bench.test.ts"],
  },
  {
    title: "The first byte of a warm short chat arrives within 5 ms of the engine port's",
    paths: ["bench/first-byte.bench.test.ts"],
  },
  {
    title: "Each of 32 clients on mixed APIs receives its own response and never another client's",
    paths: [`${robustness}/separate-clients.model.test.ts`],
  },
  {
    title: "At default settings, the eighth of eight clients does not wait for the other seven",
    paths: ["bench/eighth-client.bench.test.ts"],
  },
  {
    title:
      "Of 1,000 concurrent requests, exactly as many as fit are accepted and the rest receive Retry-After",
    paths: [`${robustness}/thousand-at-once.model.test.ts`, `${source}/scheduling/scheduler.test.ts`],
  },
  {
    title: "Models load and unload as keep-alive, memory, contexts and deletion require, without leaks",
    paths: [
      `${robustness}/loading-and-unloading.model.test.ts`,
      `${source}/scheduling/several-models.test.ts`,
      `${source}/scheduling/context.test.ts`,
    ],
  },
  {
    title: "Prompts, images and keys appear nowhere but in the responses to their own client",
    paths: [`${robustness}/canaries.model.test.ts`],
  },
  {
    title: "A slow reader causes back-pressure, and on SIGTERM every stream finishes or receives an error",
    paths: [`${robustness}/slow-reader.model.test.ts`, `${robustness}/shutdown.model.test.ts`],
  },
  {
    title:
      "The README's quick start creates a model, serves it, and calls it with curl and each official client",
    paths: ["claims/ground/quick-start.browser.test.ts"],
  },
];

export const familiesLines: readonly ShowLine[] = claimLines("families", claims, everything);
