import { sanitizeLine, screen } from "@hearth-and-keep/terminal";
import { Type } from "typebox";
import { addServerFlag, openServerContext } from "../client/open-context.ts";
import type { DefineCommand } from "./command-entry.ts";

type WhoamiFlags = { readonly server?: string; readonly json?: boolean };

export const define: DefineCommand = (command) => {
  addServerFlag(command).option("--json", "print JSON").action(showLogin);
};

const ownToken = Type.Object({
  name: Type.String({ maxLength: 255 }),
  scopes: Type.Array(Type.String({ maxLength: 64 }), { maxItems: 64 }),
  expires_at: Type.Union([Type.String({ maxLength: 32 }), Type.Null()]),
});

/** Asks the server, so that it also shows whether the token works. */
async function showLogin(flags: WhoamiFlags): Promise<void> {
  await using context = await openServerContext(flags);
  const { client, login } = context;
  const { name, scopes, expires_at } = await client.request("/api/secrets/tokens/self", { shape: ownToken });
  const { server } = client;
  const person = login?.person ?? null;
  const account = login?.account ?? null;
  if (flags.json === true) {
    const token = { name, scopes, expires_at };
    screen.writeLine(JSON.stringify({ server, person, account, token }, null, 2));
    return;
  }
  screen.writeLine(`Server   ${server}`);
  if (login !== undefined) {
    screen.writeLine(`Person   ${sanitizeLine(login.person)}`);
    screen.writeLine(`Account  ${sanitizeLine(login.account.name)} (${login.account.kind})`);
  }
  screen.writeLine(`Token    ${sanitizeLine(name)}${login === undefined ? " (from KEEP_TOKEN)" : ""}`);
  screen.writeLine(`May      ${scopes.map(sanitizeLine).join(", ")}`);
  screen.writeLine(`Expires  ${expires_at ?? "never"}`);
}
