import { inheritedEnvironment } from "../config.ts";
import type { Placeholder } from "./placeholders.ts";
import { certificateFile, proxyPort } from "./sandbox.ts";

const proxy = `http://127.0.0.1:${proxyPort}`;
/** Servers that the program starts itself. */
const ownHosts: readonly string[] = ["localhost", "127.0.0.1", "::1"];

/** Where programs look for the certificates that they trust: OpenSSL, Node, Python, curl, Git, AWS, Deno and Cargo. */
const certificateVariables: readonly string[] = [
  "SSL_CERT_FILE",
  "NODE_EXTRA_CA_CERTS",
  "REQUESTS_CA_BUNDLE",
  "PIP_CERT",
  "CURL_CA_BUNDLE",
  "GIT_SSL_CAINFO",
  "AWS_CA_BUNDLE",
  "DENO_CERT",
  "CARGO_HTTP_CAINFO",
];

/** They lead to programs and files that the sandbox hides. */
const hiddenVariables: readonly string[] = [
  "SSH_AUTH_SOCK",
  "SSH_AGENT_PID",
  "GPG_AGENT_INFO",
  "DBUS_SESSION_BUS_ADDRESS",
  "XDG_RUNTIME_DIR",
  "DOCKER_HOST",
  "DISPLAY",
  "WAYLAND_DISPLAY",
  "SSL_CERT_DIR",
  "NODE_TLS_REJECT_UNAUTHORIZED",
  "ALL_PROXY",
  "all_proxy",
];

/** This process's environment with placeholders instead of secrets, and the way to the proxy. */
export function agentEnvironment(
  placeholders: readonly Placeholder[],
  hosts: ReadonlySet<string>,
  inherited: NodeJS.ProcessEnv = inheritedEnvironment(),
): NodeJS.ProcessEnv {
  const direct = ownHosts.filter((own) => ![...hosts].some((host) => host.split(":")[0] === own)).join(",");
  const proxied = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];
  const kept = Object.entries(inherited).filter(([name]) => !hiddenVariables.includes(name));
  return Object.fromEntries([
    ...kept,
    ...proxied.map((name) => [name, proxy]),
    ...["NO_PROXY", "no_proxy"].map((name) => [name, direct]),
    ...certificateVariables.map((name) => [name, certificateFile]),
    ["NODE_USE_ENV_PROXY", "1"],
    ...placeholders.map(({ secret, text }) => [secret.variable, text]),
  ]);
}
