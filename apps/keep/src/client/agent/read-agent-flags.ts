import { clientFailure } from "../client-failure.ts";
import { type RunFlags, readNames } from "../run/read-run-flags.ts";

export type AgentFlags = {
  readonly agent?: boolean;
  readonly allowHost?: string;
  readonly privateHost?: string;
  readonly read?: readonly string[];
  readonly write?: readonly string[];
};

/** Whether the program is an agent. Throws when there are flags that do not go with that. */
export function isForAgent(flags: AgentFlags & RunFlags): boolean {
  const { agent, allowHost, privateHost, read, write } = flags;
  const { mount, watch, redact, offline } = flags;
  const valueFlags = [mount, watch, redact, offline];
  if (agent === true && valueFlags.some((flag) => flag !== undefined)) {
    const message = "The program of --agent gets no values to keep or to replace";
    const next = "leave out --mount, --watch, --redact and --offline";
    throw clientFailure({ kind: "usage-error", message, next });
  }
  const agentFlags = [allowHost, privateHost, read, write];
  if (agent === true || agentFlags.every((flag) => flag === undefined)) return agent === true;
  const message = "--allow-host, --private-host, --read and --write limit the program of --agent";
  throw clientFailure({ kind: "usage-error", message, next: "add --agent, or leave them out" });
}

export function readAgentFlags({ allowHost = "", privateHost = "", read = [], write = [] }: AgentFlags) {
  return {
    openHosts: readNames(allowHost),
    privateHosts: readNames(privateHost),
    readable: read,
    writable: write,
  };
}
