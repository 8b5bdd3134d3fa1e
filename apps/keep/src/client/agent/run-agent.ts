import { rmSync } from "node:fs";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createOutbound } from "@hearth-and-keep/outbound-http";
import { errorScreen, sanitizeLine } from "@hearth-and-keep/terminal";
import { clientFailure } from "../client-failure.ts";
import { assertCertificatesVerified } from "../config.ts";
import type { VaultContext } from "../open-context.ts";
import type { Selection } from "../run/child-environment.ts";
import { passSignals } from "../run/pass-signals.ts";
import { type ProgramExit, type RunningProgram, startProgram } from "../run/run-program.ts";
import { agentEnvironment } from "./agent-environment.ts";
import { createApprovals } from "./approvals.ts";
import { createSessionAuthority } from "./certificates.ts";
import { createEgressProxy, readAuthority } from "./egress-proxy.ts";
import { requireBubblewrap } from "./find-bubblewrap.ts";
import { createPlaceholder, type Placeholder } from "./placeholders.ts";
import { createReleasedValues } from "./released-values.ts";
import { sandboxArgs } from "./sandbox.ts";
import { findUsableSecrets, requestUse } from "./usable-secrets.ts";

export type AgentRun = {
  readonly program: string;
  readonly args: readonly string[];
  readonly selection: Selection;
  /** Reachable without secrets. */
  readonly openHosts: readonly string[];
  /** May have private addresses. */
  readonly privateHosts: readonly string[];
  readonly readable: readonly string[];
  readonly writable: readonly string[];
};

/** Runs the program until it ends; the proxy, its keys and the placeholders end with it. */
export async function runAgent(run: AgentRun, context: VaultContext): Promise<ProgramExit> {
  const bubblewrap = requireBubblewrap();
  assertCertificatesVerified();
  const { usable, skipped } = await findUsableSecrets(run.selection, context);
  reportSkipped(skipped);
  const placeholders = usable.map(createPlaceholder);
  const hosts = new Set([...usable.flatMap(({ rule }) => rule.hosts), ...run.openHosts.map(parseHost)]);
  await using session = await openSessionFolder();
  using signals = passSignals(() => rmSync(session.path, { recursive: true, force: true }));
  let running: RunningProgram | undefined;
  const approve = createApprovals({
    pause: () => running?.send("SIGSTOP"),
    resume: () => running?.send("SIGCONT"),
  });
  const authority = await createSessionAuthority();
  await writeFile(join(session.path, "ca.pem"), authority.certificate);
  await using outbound = createOutbound({ privateHosts: run.privateHosts.map(parsePrivateHost) });
  await using proxy = createEgressProxy({
    authority,
    hosts,
    placeholders,
    approve,
    outbound,
    released: createReleasedValues(),
    useValue: (secret, use) => requestUse(secret, use, context),
  });
  await proxy.listen(join(session.path, "proxy.sock"));
  const started = startInSandbox(run, { bubblewrap, sessionFolder: session.path, placeholders, hosts });
  running = started;
  // The terminal sends none to the session of the sandbox.
  signals.passTo((signal) => started.send(signal));
  return await started.exit;
}

type Started = {
  readonly bubblewrap: string;
  readonly sessionFolder: string;
  readonly placeholders: readonly Placeholder[];
  readonly hosts: ReadonlySet<string>;
};

function startInSandbox(
  { program, args, ...run }: AgentRun,
  { bubblewrap, sessionFolder, placeholders, hosts }: Started,
): RunningProgram {
  const plan = {
    bubblewrap,
    sessionFolder,
    folder: process.cwd(),
    readable: run.readable.map((path) => resolve(path)),
    writable: run.writable.map((path) => resolve(path)),
    program,
    args,
  };
  return startProgram(
    { program: bubblewrap, args: sandboxArgs(plan) },
    { environment: agentEnvironment(placeholders, hosts), isControlled: true },
  );
}

function reportSkipped(skipped: readonly string[]): void {
  if (skipped.length === 0) return;
  const names = skipped.map(sanitizeLine).join(", ");
  errorScreen.writeLine(`Not passed, because no egress rule allows a use: ${names}`);
}

/** Only this user can enter it. */
async function openSessionFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), "keep-agent-"));
  await chmod(path, 0o700);
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** As in rules. */
function parseHost(text: string): string {
  const host = readAuthority(/:\d+$/u.test(text) ? text : `${text}:443`);
  if (host !== undefined) return host;
  const message = `Invalid host "${sanitizeLine(text)}"`;
  throw clientFailure({
    kind: "usage-error",
    message,
    next: "use a name such as registry.example, without https://",
  });
}

/** For the HTTP client, with a port. */
function parsePrivateHost(text: string): string {
  const host = parseHost(text);
  return host.includes(":") ? host : `${host}:443`;
}
