import { startTestServer, type TestServerOptions } from "../../apps/hearth/src/test/start-test-server.ts";
import { serveUntilStopped } from "./serve-until-stopped.ts";

// A server with llama.cpp in its own process, with the options of its argument. Started by start-real-engine-server.ts.

// Written by that file.
const options = JSON.parse(process.argv[2] ?? "") as TestServerOptions;
await using server = await startTestServer({ isOffline: true, discardsLog: true, ...options });
await serveUntilStopped(server);
