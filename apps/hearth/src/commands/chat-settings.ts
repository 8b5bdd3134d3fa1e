import { parseParameter } from "../models/metadata/parse-parameter.ts";
import type { ChatContext } from "./conversation.ts";

/** Applies a setting, and returns what to print: the new state, or why the value is invalid. */
type ApplySetting = (value: string, context: ChatContext) => string;

export const settingsHelp: readonly (readonly [usage: string, description: string])[] = [
  ["/set system TEXT", "set the system prompt; without TEXT, restore the model's own"],
  ["/set parameter NAME VALUE", "set a parameter, e.g. temperature 0.2, num_ctx 8192 or seed 7"],
  ["/set think [low|medium|high]", "turn thinking on; /set nothink turns it off"],
  ["/set think show", "show all of the thinking; /set think fold shows one line"],
  ["/set format json", "respond in JSON; /set noformat turns this off"],
  ["/set verbose", "show timings after each response; /set quiet hides them"],
  ["/set nowordwrap", "print responses unformatted; /set wordwrap renders Markdown"],
  ["/set history", "save typed lines for later chats; /set nohistory does not"],
];

/** Returns undefined if there is no such setting. */
export function applySetting(name: string, value: string, context: ChatContext): string | undefined {
  return Object.hasOwn(settingHandlers, name) ? settingHandlers[name]?.(value, context) : undefined;
}

const settingHandlers: Readonly<Record<string, ApplySetting>> = {
  system: setSystem,
  parameter: setParameter,
  think: setThink,
  nothink(_value, { conversation }) {
    conversation.think = false;
    return "Thinking off";
  },
  format(value, { conversation }) {
    if (value !== "json") return 'Usage: /set format json; for a schema, use "hearth run --format FILE"';
    conversation.format = "json";
    return "JSON output on; ask for JSON in your prompt as well";
  },
  noformat(_value, { conversation }) {
    conversation.format = undefined;
    return "JSON output off";
  },
  verbose(_value, { conversation }) {
    conversation.isVerbose = true;
    return "Verbose on";
  },
  quiet(_value, { conversation }) {
    conversation.isVerbose = false;
    return "Verbose off";
  },
  wordwrap(_value, { conversation }) {
    conversation.rendersMarkdown = true;
    return "Markdown rendering and word wrap on";
  },
  nowordwrap(_value, { conversation }) {
    conversation.rendersMarkdown = false;
    return "Markdown rendering and word wrap off";
  },
  history(_value, { editor }) {
    editor.recordsHistory = true;
    return "History on: typed lines are saved";
  },
  nohistory(_value, { editor }) {
    editor.recordsHistory = false;
    return "History off: typed lines are not saved";
  },
};

function setSystem(value: string, { conversation }: ChatContext): string {
  const text = unquote(value);
  if (text.trim() !== "") {
    conversation.system = text;
    return "System prompt set";
  }
  conversation.system = undefined;
  return conversation.modelInfo.system
    ? "System prompt reset to the model's own; see it with /show system"
    : "System prompt removed";
}

function setParameter(value: string, { conversation }: ChatContext): string {
  const [, name = "", text = ""] = /^(\S*)\s*([\s\S]*)$/u.exec(value) ?? [];
  if (text === "") return "Usage: /set parameter NAME VALUE, e.g. /set parameter temperature 0.2";
  const parsed = parseParameter(name, name === "stop" ? splitQuoted(text) : [unquote(text)]);
  if ("reason" in parsed) return `Cannot set ${name} to ${text}: ${parsed.reason}`;
  if (parsed.isDeprecated) return `${name} is obsolete and has no effect`;
  conversation.parameters[name] = parsed.value;
  return `Set ${name} to ${text}`;
}

/** Splits at spaces, except inside double quotes. */
function splitQuoted(text: string): readonly string[] {
  return [...text.matchAll(/"([^"]*)"|\S+/gu)].map(([match, quoted]) => quoted ?? match);
}

const thinkLevels = ["low", "medium", "high"];

function setThink(value: string, { conversation }: ChatContext): string {
  if (value === "show" || value === "fold") {
    conversation.thinkingView = value === "show" ? "shown" : "folded";
    return value === "show" ? "Thinking is shown" : "Thinking is folded into one line";
  }
  if (value !== "" && !thinkLevels.includes(value)) return "Usage: /set think [low|medium|high|show|fold]";
  conversation.think = value === "" ? true : value;
  return value === "" ? "Thinking on" : `Thinking on, level ${value}`;
}

function unquote(text: string): string {
  return (
    /^(?:"""([\s\S]*)"""|"([\s\S]*)")$/u
      .exec(text)
      ?.slice(1)
      .find((group) => group !== undefined) ?? text
  );
}
