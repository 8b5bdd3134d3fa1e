/** What a person set for the commands that call a server. */
export type CallingEnvironment = {
  /** As it was written, with the name it was found under. */
  readonly host: { readonly name: string; readonly text: string } | undefined;
  readonly port: string | undefined;
  readonly apiKey: string | undefined;
  readonly apiKeyFile: string | undefined;
};

/** People who come from Ollama have its variable set already; ours wins. */
export function readCallingEnvironment(): CallingEnvironment {
  const hostName = ["HEARTH_HOST", "OLLAMA_HOST"].find((name) => written(name) !== undefined);
  return {
    host: hostName === undefined ? undefined : { name: hostName, text: written(hostName) ?? "" },
    port: written("HEARTH_PORT"),
    apiKey: written("HEARTH_API_KEY"),
    apiKeyFile: written("HEARTH_API_KEY_FILE"),
  };
}

/** A server that is started in the background is told what we were told, and where the key is. */
export function environmentForServer(apiKeyFile: string | undefined): NodeJS.ProcessEnv {
  return { ...process.env, ...(apiKeyFile === undefined ? {} : { HEARTH_API_KEY_FILE: apiKeyFile }) };
}

function written(name: string): string | undefined {
  const text = process.env[name]?.trim();
  return text === "" ? undefined : text;
}
