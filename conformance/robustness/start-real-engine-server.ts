import type { TestServerOptions } from "../../apps/hearth/src/test/start-test-server.ts";
import {
  type ObservedServer,
  type ObservedServerOptions,
  startObservedServer,
} from "./start-observed-server.ts";

/** The options that can be passed to another process. */
type RealEngineServerOptions = Pick<
  TestServerOptions,
  "models" | "storeFolder" | "limits" | "transferLimits"
>;

/** Starts a server in its own process, whose models run in llama.cpp with one thread. */
export function startRealEngineServer(
  options: RealEngineServerOptions,
  observed: Omit<ObservedServerOptions, "args"> = {},
): Promise<ObservedServer> {
  return startObservedServer("real-engine-server.ts", { ...observed, args: [JSON.stringify(options)] });
}
