/**
 * @module
 * The claims about the three protocol families: what the specification says is so, the official clients work, nobody
 * gets in who may not, nothing malformed or sudden breaks the server, and it costs little over the engine.
 * Imported by `claims/main.ts`.
 */
import type { Need, ShowLine } from "../line.ts";
import { type Claim, claimLines } from "../prove-by-tests.ts";
import { testsNamedIn } from "./tests-named-in.ts";

const everything: readonly Need[] = ["debian packages", "python", "test models"];
const source = "apps/hearth/src";
const robustness = "conformance/robustness";

/** Clients from npm, by the files that judge with them. */
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

/** In the order of their lines. */
const claims: readonly Claim[] = [
  {
    title: "Every row and sentence of the specification, and every route, has a test that shows it",
    paths: testsNamedIn("docs/hearth/compatibility.md"),
  },
  {
    title: "The known bugs of servers like this one are not here, each shown by a test named by its symptom",
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
    title: "The official clients from npm and PyPI work, each with all its calls",
    paths: [...npmClients.map((name) => `conformance/${name}-npm.model.test.ts`), "conformance/python/"],
  },
  {
    title: "Every route asks for the key, in every form and spelling, as the reviewed table says",
    paths: [`${source}/access/access-matrix.model.test.ts`, `${source}/access/keys.model.test.ts`],
  },
  {
    title: "Hosts and sites are let through or refused as the reviewed file says",
    paths: [`${source}/access/sites.model.test.ts`, `${source}/access/preflight.model.test.ts`],
  },
  {
    title: "Malformed requests are refused in their family's shape, and neither end nor swell the server",
    paths: [
      `${robustness}/malformed-requests.model.test.ts`,
      `${robustness}/documents-under-attack.model.test.ts`,
    ],
  },
  {
    title: "A worker that dies in mid-stream makes each official client throw",
    paths: [`${robustness}/worker-death.model.test.ts`],
  },
  {
    title: "Streams at the socket are nearly as fast as at the port, one and 32, in each family",
    paths: ["bench/socket-against-port.bench.test.ts"],
  },
  {
    title: "The first byte of a warm short chat comes within 5 ms of the port's",
    paths: ["bench/first-byte.bench.test.ts"],
  },
  {
    title: "Of 32 clients on mixed families each gets its own answer, and none a foreign one",
    paths: [`${robustness}/own-answers.model.test.ts`],
  },
  {
    title: "The eighth of eight clients at default settings does not wait for the other seven",
    paths: ["bench/eighth-client.bench.test.ts"],
  },
  {
    title:
      "Of 1,000 requests at once exactly as many are accepted as there are places, the rest told when to come",
    paths: [`${robustness}/thousand-at-once.model.test.ts`, `${source}/scheduling/scheduler.test.ts`],
  },
  {
    title: "Models come and go as keep-alive, memory, contexts and deletion say, and nothing leaks",
    paths: [
      `${robustness}/coming-and-going.model.test.ts`,
      `${source}/scheduling/several-models.test.ts`,
      `${source}/scheduling/context.test.ts`,
    ],
  },
  {
    title: "A prompt, an image and a key leave no trace where they do not belong",
    paths: [`${robustness}/canaries.model.test.ts`],
  },
  {
    title: "A slow reader is held back, and at SIGTERM every stream ends or is told",
    paths: [`${robustness}/slow-reader.model.test.ts`, `${robustness}/ending.model.test.ts`],
  },
  {
    title:
      "The README's quick start creates a model, serves it, and calls it with curl and each official client",
    paths: ["claims/ground/quick-start.browser.test.ts"],
  },
];

export const familiesLines: readonly ShowLine[] = claimLines("families", claims, everything);
