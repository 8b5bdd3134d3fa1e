/** Environment variables of the commands that call a server. */
export type ClientEnvironment = {
  /** The value, and the variable that it comes from. */
  readonly host: { readonly name: string; readonly text: string } | undefined;
  readonly port: string | undefined;
  readonly apiKey: string | undefined;
  readonly apiKeyFile: string | undefined;
};

/** HEARTH_HOST takes precedence over OLLAMA_HOST, which users of Ollama may have set. */
export function readClientEnvironment(): ClientEnvironment {
  const hostName = ["HEARTH_HOST", "OLLAMA_HOST"].find((name) => readVariable(name) !== undefined);
  return {
    host: hostName === undefined ? undefined : { name: hostName, text: readVariable(hostName) ?? "" },
    port: readVariable("HEARTH_PORT"),
    apiKey: readVariable("HEARTH_API_KEY"),
    apiKeyFile: readVariable("HEARTH_API_KEY_FILE"),
  };
}

/** The environment of a background server: this process's own, and the key file. */
export function serverEnvironment(apiKeyFile: string | undefined): NodeJS.ProcessEnv {
  return { ...process.env, ...(apiKeyFile === undefined ? {} : { HEARTH_API_KEY_FILE: apiKeyFile }) };
}

function readVariable(name: string): string | undefined {
  const text = process.env[name]?.trim();
  return text === "" ? undefined : text;
}
