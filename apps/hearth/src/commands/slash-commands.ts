import { screen, wrapToWidth } from "@hearth-and-keep/terminal";
import { callFailure } from "../server-client/call-failure.ts";
import { showModel } from "../server-client/response-types.ts";
import { applySetting, settingsHelp } from "./chat-settings.ts";
import type { ChatContext } from "./conversation.ts";
import { formatField, modelFields, renderModelInfo } from "./show.ts";

/** What the chat does next; `load`: a model was selected and must be loaded. */
export type SlashCommandResult = "continue" | "exit" | "load";

type SlashCommand = {
  /** Empty for an alias, which the help omits. */
  readonly usage: string;
  readonly description: string;
  readonly run: (rest: string, context: ChatContext) => Promise<SlashCommandResult> | SlashCommandResult;
};

const slashCommands: Readonly<Record<string, SlashCommand>> = {
  set: { usage: "/set …", description: "change a setting; /set alone lists the settings", run: set },
  show: { usage: "/show …", description: `show info, ${modelFields.join(", ")}`, run: show },
  load: { usage: "/load MODEL", description: "switch to another model or a saved chat", run: load },
  save: { usage: "/save NAME", description: "save this chat and its settings as a model", run: save },
  clear: { usage: "/clear", description: "clear the history of this chat", run: clear },
  bye: { usage: "/bye", description: "exit, like Ctrl-D", run: () => "exit" },
  exit: { usage: "", description: "", run: () => "exit" },
  "?": { usage: "/?", description: "show this help", run: help },
  help: { usage: "", description: "", run: help },
};

export async function runSlashCommand(text: string, context: ChatContext): Promise<SlashCommandResult> {
  const [, name = "", rest = ""] = /^\/(\S*)\s*([\s\S]*)$/u.exec(text.trimEnd()) ?? [];
  if (!Object.hasOwn(slashCommands, name)) {
    printWrapped(`Unknown command /${name}. Type /? for help`);
    return "continue";
  }
  return (await slashCommands[name]?.run(rest, context)) ?? "continue";
}

function help(rest: string): SlashCommandResult {
  if (/^\/?set$/u.test(rest)) {
    printHelpTable(settingsHelp);
    return "continue";
  }
  const listed = Object.values(slashCommands).filter(({ usage }) => usage !== "");
  printHelpTable(listed.map(({ usage, description }) => [usage, description]));
  printHelpTable([
    ['"""', "start and end a message of several lines"],
    ["Ctrl-C", "stop the response; twice at the prompt exits"],
  ]);
  return "continue";
}

function printWrapped(text: string): void {
  for (const line of wrapToWidth(text, screen.columns() - 1)) screen.writeLine(line);
}

const narrowColumns = 60;

/** Two columns, or one below the other in a narrow window. */
function printHelpTable(rows: readonly (readonly [usage: string, description: string])[]): void {
  const isNarrow = screen.columns() < narrowColumns;
  const indent = isNarrow ? 6 : 33;
  for (const [usage, description] of rows) {
    const [first = "", ...rest] = wrapToWidth(description, screen.columns() - 1 - indent);
    screen.writeLine(isNarrow ? `  ${usage}` : `  ${usage.padEnd(indent - 2)}${first}`);
    for (const line of isNarrow ? [first, ...rest] : rest) screen.writeLine(" ".repeat(indent) + line);
  }
}

function set(rest: string, context: ChatContext): SlashCommandResult {
  const [, name = "", value = ""] = /^(\S*)\s*([\s\S]*)$/u.exec(rest) ?? [];
  const result = applySetting(name, value, context);
  if (result === undefined) printHelpTable(settingsHelp);
  else printWrapped(result);
  return "continue";
}

function show(rest: string, { conversation }: ChatContext): SlashCommandResult {
  const { modelInfo, system, parameters } = conversation;
  const field = modelFields.find((each) => each === rest);
  if (rest === "info") for (const line of renderModelInfo(modelInfo)) screen.writeLine(line);
  else if (field === undefined) printWrapped(`Usage: /show info|${modelFields.join("|")}`);
  else if (field === "system" && system !== undefined) screen.writeLine(system);
  else screen.writeLine(formatField(modelInfo, field));
  if (field === "parameters" && Object.keys(parameters).length > 0) {
    screen.writeLine("set in this chat:");
    for (const [name, value] of Object.entries(parameters))
      screen.writeLine(`  ${name.padEnd(20)} ${JSON.stringify(value)}`);
  }
  return "continue";
}

async function load(rest: string, { server, conversation }: ChatContext): Promise<SlashCommandResult> {
  requireName(rest, "/load MODEL");
  conversation.modelInfo = await showModel(server, rest);
  conversation.model = rest;
  conversation.messages = [];
  conversation.images = [];
  return "load";
}

/** `/api/create` replaces the messages saved with a model, so the request repeats them before those of this chat. */
async function save(rest: string, { server, conversation }: ChatContext): Promise<SlashCommandResult> {
  requireName(rest, "/save NAME");
  const { model, modelInfo, system, parameters, messages } = conversation;
  const allMessages = [
    ...(modelInfo.messages ?? []),
    ...messages.map(({ role, content }) => ({ role, content })),
  ];
  const body = {
    model: rest,
    from: model,
    ...(system === undefined ? {} : { system }),
    parameters,
    messages: allMessages,
  };
  const steps = server.stream("/api/create", body);
  while ((await steps.next()).done !== true);
  const hasImages = messages.some(({ images = [] }) => images.length > 0);
  // After saving under the same name, the server prepends the messages of this chat; they must not be sent twice.
  conversation.modelInfo = await showModel(server, model);
  const isSameModel = (conversation.modelInfo.messages ?? []).length === allMessages.length;
  if (isSameModel) conversation.messages = [];
  printWrapped(`Saved${hasImages ? " without images" : ""}; continue later with "hearth run ${rest}"`);
  return "continue";
}

function clear(_rest: string, { conversation }: ChatContext): SlashCommandResult {
  conversation.messages = [];
  conversation.images = [];
  const { messages = [] } = conversation.modelInfo;
  printWrapped(
    messages.length === 0
      ? "History cleared; settings kept"
      : `History cleared; settings and the ${messages.length} messages saved in ${conversation.model} kept`,
  );
  return "continue";
}

function requireName(name: string, usage: string): void {
  if (!/^\S+$/u.test(name)) throw callFailure({ kind: "usage-error", message: `Usage: ${usage}` });
}
