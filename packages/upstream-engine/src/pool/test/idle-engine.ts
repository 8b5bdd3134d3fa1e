import type { RemoteEngine } from "../../remote/remote-engine.ts";

const refuse = (): never => {
  throw new Error("Nobody asks it here");
};

/** For rules of members and lines, in which no engine has a part. */
export const unaskedEngine: RemoteEngine = {
  checkHealth: refuse,
  learn: refuse,
  forget: () => undefined,
  generate: refuse,
  embed: refuse,
  tokenize: refuse,
  render: refuse,
  count: refuse,
};
