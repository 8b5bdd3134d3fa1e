import { type ObservedServer, smallHeap, startObservedServer } from "./start-observed-server.ts";

/** Starts a server in its own process, with the model "tiny", which always responds with Hello. */
export function startFakeEngineServer(): Promise<ObservedServer> {
  return startObservedServer("fake-engine-server.ts", { nodeOptions: smallHeap });
}
