import { startTestServer, type TestServerOptions } from "../../apps/hearth/src/test/start-test-server.ts";
import { serveUntilStopped } from "./serve-until-stopped.ts";
import { createSmallResponseStore } from "./small-response-store.ts";

// A server with llama.cpp in its own process, with the options of its argument. Started by start-real-engine-server.ts.

// Written by that file.
const options = JSON.parse(process.argv[2] ?? "") as TestServerOptions;
const responses = createSmallResponseStore();
await using server = await startTestServer({ isOffline: true, discardsLog: true, responses, ...options });
await serveUntilStopped(server);
