import type { RemoteEngine } from "../../remote/remote-engine.ts";

const unexpected = (): never => {
  throw new Error("Unexpected request to the engine");
};

/** For tests of members and queues that never call an engine. */
export const idleEngine: RemoteEngine = {
  checkHealth: unexpected,
  getFacts: unexpected,
  invalidateFacts: () => undefined,
  generate: unexpected,
  embed: unexpected,
  tokenize: unexpected,
  render: unexpected,
  count: unexpected,
};
