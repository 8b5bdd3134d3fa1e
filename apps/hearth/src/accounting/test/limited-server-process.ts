/** A server of its own process, which a test can kill: arguments are the backend, the address and the node's name. */
import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { openPostgresStore } from "../../key-store/postgres-store.ts";
import { openSqliteStore } from "../../key-store/sqlite-store.ts";
import { startLimitedServer } from "./start-limited-server.ts";

const [backend = "", address = "", node = ""] = process.argv.slice(2);
const tokenMilliseconds = 2;

/** As many tokens as the prompt asks for. */
const speak: FakeEngineScript = function* speak({ maxTokens }) {
  yield { do: "emit", event: { type: "prompt-progress", evaluated: 1, total: 1, cached: 0 } };
  for (let index = 0; index < maxTokens; index += 1) {
    yield { do: "wait", milliseconds: tokenMilliseconds };
    yield { do: "write", text: "word " };
  }
  yield { do: "end", reason: "length" };
};

const server = await startLimitedServer(
  { open: async () => (backend === "postgres" ? openPostgresStore(address) : openSqliteStore(address)) },
  { script: speak, accounting: { node } },
);
process.stdout.write(`Listening on ${server.url}\n`);
