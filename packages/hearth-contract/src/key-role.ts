/** What an API key may do: list, show and run models, or also change and unload them and read the metrics of all keys. */
export type KeyRole = "inference" | "admin";

/** The field of `GET /api/status` that Ollama does not have. */
export type CallerStatus = {
  /** The role of the caller's key; `admin` on a server without keys. */
  readonly role: KeyRole;
};
