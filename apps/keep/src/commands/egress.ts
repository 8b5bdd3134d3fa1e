import { errorScreen, screen } from "@hearth-and-keep/terminal";
import { type EgressRule, egressRule, type SecretMetadata, secret } from "@hearth-and-keep/vault-contract";
import { Value } from "typebox/value";
import { clientFailure } from "../client/client-failure.ts";
import { findSecret } from "../client/find-secret.ts";
import { addContextFlags, type ContextFlags, openVaultContext } from "../client/open-context.ts";
import type { DefineCommand } from "./command-entry.ts";

type EgressFlags = ContextFlags & {
  readonly host?: readonly string[];
  readonly method?: readonly string[];
  readonly path?: readonly string[];
  readonly ask?: boolean;
  readonly remove?: boolean;
  readonly json?: boolean;
};

export const define: DefineCommand = (command) => {
  addContextFlags(
    command
      .argument("<name>", "name in the folder, or a path from the root of the vault")
      .option(
        "--host <host>",
        "host that may get the value, with a port unless it is 443; repeatable",
        collect,
      )
      .option("--method <method>", "only for requests with this method; repeatable", collect)
      .option("--path <pattern>", "only for paths such as /repos/** or /user; repeatable", collect)
      .option("--ask", "ask on the terminal before the first use for each host of a run")
      .option("--remove", "let no agent use the secret")
      .option("--json", "print JSON"),
  )
    .addHelpText("after", "\nA new rule replaces the rule before. Without options, the rule is shown.")
    .action(changeRule);
};

function collect(text: string, texts: readonly string[] = []): readonly string[] {
  return [...texts, text];
}

async function changeRule(name: string, flags: EgressFlags): Promise<void> {
  const wanted = readRule(flags);
  await using context = await openVaultContext(flags);
  const found = await findSecret(name, context);
  const described =
    wanted === undefined
      ? found
      : await context.client.request(`/api/secrets/vaults/${context.vaultId}/secrets/${found.id}`, {
          method: "PATCH",
          body: { egress: wanted },
          headers: { "if-match": `"${found.revision}"` },
          shape: secret,
          subject: found.path,
        });
  print(described, flags);
}

/** Undefined to show the rule, null to remove it. */
function readRule({ host, method, path, ask, remove }: EgressFlags): EgressRule | null | undefined {
  const isNothingElse = [method, path, ask].every((flag) => flag === undefined);
  if (remove === true) {
    if (host !== undefined || !isNothingElse) throw invalidRule("--remove has no other options");
    return null;
  }
  if (host === undefined) {
    if (!isNothingElse) throw invalidRule("A rule has at least one --host");
    return undefined;
  }
  const rule = {
    hosts: [...new Set(host.map((each) => each.toLowerCase()))],
    ...(method === undefined ? {} : { methods: [...new Set(method.map((each) => each.toUpperCase()))] }),
    ...(path === undefined ? {} : { paths: [...new Set(path)] }),
    ask: ask === true,
  };
  if (Value.Check(egressRule, rule)) return rule;
  const [field = ""] = Value.Errors(egressRule, rule).map(
    ({ instancePath }) => instancePath.split("/")[1] ?? "",
  );
  throw invalidRule(`Invalid ${field.replace(/s$/u, "")}`);
}

function invalidRule(message: string) {
  const next = "use e.g. --host api.github.com --method GET --path /repos/**";
  return clientFailure({ kind: "usage-error", message, next });
}

function print({ path, egress }: SecretMetadata, { json }: EgressFlags): void {
  if (json === true) return screen.writeLine(JSON.stringify({ path, egress: egress ?? null }, null, 2));
  if (egress === undefined) return errorScreen.writeLine(`No agent may use ${path}`);
  const { hosts, methods = ["all"], paths = ["all"], ask } = egress;
  screen.writeLine(`Hosts:   ${hosts.join(", ")}`);
  screen.writeLine(`Methods: ${methods.join(", ")}`);
  screen.writeLine(`Paths:   ${paths.join(", ")}`);
  screen.writeLine(`Asks:    ${ask ? "before the first use for each host" : "no"}`);
  return undefined;
}
