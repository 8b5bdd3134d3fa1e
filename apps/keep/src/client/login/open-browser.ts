import { spawn } from "node:child_process";

/** Opens the page in the person's browser if there is one; the address is printed in any case. */
export function openBrowser(url: string): void {
  const [program = "", ...args] = commandFor(process.platform);
  const child = spawn(program, [...args, url], { stdio: "ignore", detached: true });
  // Without a browser, the person opens the printed address.
  child.on("error", () => undefined);
  child.unref();
}

function commandFor(platform: NodeJS.Platform): readonly string[] {
  if (platform === "darwin") return ["open"];
  // Not `start` of the shell, which would interpret characters of the address.
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  return ["xdg-open"];
}
