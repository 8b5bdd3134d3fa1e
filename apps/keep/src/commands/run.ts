import { type AgentFlags, isForAgent, readAgentFlags } from "../client/agent/read-agent-flags.ts";
import { addContextFlags, type ContextFlags, openVaultContext } from "../client/open-context.ts";
import { leaveMemoryOutOfCoreDumps } from "../client/run/core-dumps.ts";
import { mountFiles } from "../client/run/mounted-files.ts";
import { openLaunches } from "../client/run/open-launches.ts";
import { endBySignal, passSignals } from "../client/run/pass-signals.ts";
import { type RunFlags, type RunPlan, readRunFlags } from "../client/run/read-run-flags.ts";
import type { Program, ProgramExit } from "../client/run/run-program.ts";
import { superviseProgram } from "../client/run/supervise.ts";
import type { DefineCommand } from "./command-entry.ts";

type Flags = ContextFlags & RunFlags & AgentFlags;

export const define: DefineCommand = (command) => {
  addContextFlags(
    command
      .usage("[options] -- <program> [arguments...]")
      .argument("<program...>", "program with its arguments")
      .passThroughOptions()
      .option("--only <names>", "pass only these secrets, comma-separated; all must exist")
      .option("--require <names>", "do not start unless these secrets exist, comma-separated")
      .option("--prefix <prefix>", "put this before the name of each variable, e.g. TF_VAR_")
      .option("--mount <path>", "pass files instead of variables: a link to a private folder, until the end")
      .option("--watch", "restart the program when its secrets change")
      .option("--interval <seconds>", "how often --watch asks the server (default: 10)")
      .option(
        "--redact",
        "replace secrets in the output of the program by [hidden]; its output is then no terminal",
      )
      .option("--offline", "keep an encrypted copy, for when the server cannot be reached")
      .option("--max-age <age>", "use a copy of at most this age, e.g. 30m, 8h or 7d (default: 24h)")
      .option("--agent", "pass placeholders, and use secrets only for what their egress rules allow")
      .option("--allow-host <hosts>", "with --agent, hosts that the program may use without secrets")
      .option("--private-host <hosts>", "with --agent, hosts that may be in your own network")
      .option("--read <path>", "with --agent, show a hidden path, e.g. in your home folder", collect)
      .option("--write <path>", "with --agent, let the program write there", collect),
  ).action(run);
};

/** A shell that runs a script ends it when its program was ended by one of these. */
const passedOn: ReadonlySet<NodeJS.Signals> = new Set(["SIGINT", "SIGTERM", "SIGHUP"]);

async function run([program = "", ...args]: readonly string[], flags: Flags): Promise<void> {
  const plan = readRunFlags(flags);
  const runProgram = isForAgent(flags) ? runWithPlaceholders : runWithSecrets;
  const { code, signal } = await runProgram({ program, args }, plan, flags);
  process.exitCode = code;
  if (signal !== undefined && passedOn.has(signal)) endBySignal(signal);
}

async function runWithSecrets(program: Program, plan: RunPlan, flags: Flags): Promise<ProgramExit> {
  const start = leaveMemoryOutOfCoreDumps();
  const files = plan.mount === undefined ? undefined : mountFiles(plan.mount);
  using signals = passSignals(() => files?.remove());
  const ending = new AbortController();
  const open = () => openVaultContext(flags);
  const launches = openLaunches(plan, { files, ending: ending.signal, open });
  try {
    return await superviseProgram(program, { launches, signals, start });
  } finally {
    ending.abort();
    files?.remove();
    // Closes the connection, with which this process would not end.
    await launches.return(undefined);
  }
}

async function runWithPlaceholders(
  program: Program,
  { selection }: RunPlan,
  flags: Flags,
): Promise<ProgramExit> {
  const { runAgent } = await import("../client/agent/run-agent.ts");
  await using context = await openVaultContext(flags);
  return await runAgent({ ...program, selection, ...readAgentFlags(flags) }, context);
}

function collect(path: string, paths: readonly string[] = []): readonly string[] {
  return [...paths, path];
}
