import type { CommandEntry } from "./command-entry.ts";

/** All subcommands, in the order of the help text. */
// biome-ignore format: a table is read down its columns
export const commandTable: readonly CommandEntry[] = [
  { name: "run", summary: "Chat with a model, or send it a single prompt", takesModel: true, load: () => import("./run.ts") },
  { name: "launch", summary: "Start a coding agent that uses a local model", load: () => import("./launch.ts") },
  { name: "pull", summary: "Download a model from a registry", takesModel: true, load: () => import("./pull.ts") },
  { name: "list", alias: "ls", summary: "List local models", load: () => import("./list.ts") },
  { name: "show", summary: "Show model information", takesModel: true, load: () => import("./show.ts") },
  { name: "ps", summary: "List loaded models", load: () => import("./ps.ts") },
  { name: "stop", summary: "Unload a model, or stop the background server", takesModel: true, load: () => import("./stop.ts") },
  { name: "create", summary: "Create a model from a GGUF file or a Modelfile", load: () => import("./create.ts") },
  { name: "copy", alias: "cp", summary: "Copy a model", takesModel: true, load: () => import("./copy.ts") },
  { name: "alias", summary: "Give a model another name, with its own parameters", load: () => import("./alias.ts") },
  { name: "keys", summary: "Create, list, change and revoke API keys with limits", load: () => import("./keys.ts") },
  { name: "remove", alias: "rm", summary: "Remove models", takesModel: true, load: () => import("./remove.ts") },
  { name: "push", summary: "Upload a model to a registry", takesModel: true, load: () => import("./push.ts") },
  { name: "prune", summary: "Remove files that no model uses", load: () => import("./prune.ts") },
  { name: "serve", alias: "start", summary: "Start the server in the foreground", load: () => import("./serve-command.ts") },
  { name: "logs", summary: "Show the log of the background server", load: () => import("./logs.ts") },
  { name: "engine", summary: "List, install, build and select engines", load: () => import("./engine.ts") },
  { name: "doctor", summary: "Check this machine and suggest fixes", load: () => import("./doctor.ts") },
  { name: "bench", summary: "Measure the speed of a model", takesModel: true, load: () => import("./bench.ts") },
  { name: "completion", summary: "Print a completion script for bash, zsh or fish", load: () => import("./completion.ts") },
];
