import type { CommandRow } from "./command-row.ts";

/** Every word that can follow `hearth`, in the order of its help. */
// biome-ignore format: a table is read down its columns
export const commandTable: readonly CommandRow[] = [
  { name: "run", summary: "Chat with a model, or ask it one question", takesModel: true, load: () => import("./run.ts") },
  { name: "pull", summary: "Fetch a model from a registry", takesModel: true, load: () => import("./pull.ts") },
  { name: "list", alias: "ls", summary: "List the models that are here", load: () => import("./list.ts") },
  { name: "show", summary: "Tell what a model is and can do", takesModel: true, load: () => import("./show.ts") },
  { name: "ps", summary: "List the models that are in memory", load: () => import("./ps.ts") },
  { name: "stop", summary: "Take a model out of memory, or end the server that run started", takesModel: true, load: () => import("./stop.ts") },
  { name: "create", summary: "Make a model of a file or by a Modelfile", load: () => import("./create.ts") },
  { name: "copy", alias: "cp", summary: "Give a model a second name", takesModel: true, load: () => import("./copy.ts") },
  { name: "remove", alias: "rm", summary: "Remove models", takesModel: true, load: () => import("./remove.ts") },
  { name: "push", summary: "Send a model to a registry", takesModel: true, load: () => import("./push.ts") },
  { name: "prune", summary: "Remove from the store what no model needs", load: () => import("./prune.ts") },
  { name: "serve", alias: "start", summary: "Start the server, and keep it in this terminal", load: () => import("./serve-command.ts") },
  { name: "logs", summary: "Show the log of the server that run started", load: () => import("./logs.ts") },
  { name: "engine", summary: "See, install, build and choose what runs models", load: () => import("./engine.ts") },
  { name: "doctor", summary: "Look at this machine, and tell what to do", load: () => import("./doctor.ts") },
  { name: "bench", summary: "Measure how fast a model is on this machine", takesModel: true, load: () => import("./bench.ts") },
  { name: "completion", summary: "Print a script that completes words in bash, zsh or fish", load: () => import("./completion.ts") },
];
