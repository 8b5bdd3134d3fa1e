import type { JsonObject, Tool } from "@hearth-and-keep/engine";
import type { TypedTool } from "../schema.ts";

/**
 * One of Anthropic's tools that the client runs, such as `bash_20250124`. The request contains only its type, because
 * Anthropic's models know it; other models need the definition. Undefined for any other type.
 */
export function toClientTool(tool: TypedTool): Tool | undefined {
  // Widened, because the static type of other types is a value that no client sends.
  const actualType: string = tool.type;
  const { family, version } = /^(?<family>[a-z_]+)_(?<version>\d{8})$/u.exec(actualType)?.groups ?? {};
  if (family === undefined || version === undefined) return undefined;
  return Object.hasOwn(definitions, family) ? definitions[family]?.(tool, version) : undefined;
}

type Define = (tool: TypedTool, version: string) => Tool;

const definitions: Readonly<Partial<Record<string, Define>>> = {
  bash: ({ name }) => ({
    name: name ?? "bash",
    description: "Runs a command in a bash session that persists between calls.",
    parameters: objectOf({
      command: text("The command to run; required unless restart is true"),
      restart: { type: "boolean", description: "Restarts the session" },
    }),
  }),
  text_editor: ({ name }, version) => defineTextEditor(name, version),
  memory: ({ name }) => ({
    name: name ?? "memory",
    description: "Reads and writes the files under /memories, which persist between conversations.",
    parameters: objectOf(
      {
        command: choice(["view", "create", "str_replace", "insert", "delete", "rename"]),
        path: text("The path of the file or directory, for every command but rename"),
        ...editing,
        insert_text: text("The text that insert adds"),
        old_path: text("The path that rename changes"),
        new_path: text("The path that rename assigns"),
      },
      ["command"],
    ),
  }),
  computer: (tool, version) => defineComputer(tool, version),
};

const text = (description: string) => ({ type: "string", description });
const choice = (values: readonly string[]) => ({ type: "string", enum: values });
const integers = (count: number, description: string) => ({
  type: "array",
  items: { type: "integer" },
  minItems: count,
  maxItems: count,
  description,
});

const editing = {
  view_range: integers(2, "The first and last line to view; -1 is the end of the file"),
  file_text: text("The content of the file that create writes"),
  old_str: text("The text that str_replace replaces; must occur exactly once"),
  new_str: text("The text that replaces old_str"),
  insert_line: { type: "integer", description: "The line after which insert adds text; 0 is the beginning" },
};

function objectOf(properties: JsonObject, required: readonly string[] = []): JsonObject {
  return { type: "object", properties, ...(required.length === 0 ? {} : { required }) };
}

/** Versions before 2025-04-29 can undo an edit, and insert `new_str`. */
function defineTextEditor(name: string | null | undefined, version: string): Tool {
  const isOld = version < "20250429";
  const commands = ["view", "create", "str_replace", "insert", ...(isOld ? ["undo_edit"] : [])];
  const inserted = isOld
    ? { new_str: text("The text that replaces old_str, or that insert adds") }
    : { insert_text: text("The text that insert adds") };
  return {
    name: name ?? (isOld ? "str_replace_editor" : "str_replace_based_edit_tool"),
    description: "Views, creates and edits text files.",
    parameters: objectOf(
      { command: choice(commands), path: text("The path of the file or directory"), ...editing, ...inserted },
      ["command", "path"],
    ),
  };
}

const firstActions = [
  "key",
  "type",
  "mouse_move",
  "left_click",
  "left_click_drag",
  "right_click",
  "middle_click",
  "double_click",
  "screenshot",
  "cursor_position",
];
const laterActions = ["left_mouse_down", "left_mouse_up", "scroll", "hold_key", "wait", "triple_click"];

function defineComputer(tool: TypedTool, version: string): Tool {
  const { name, display_width_px: width, display_height_px: height } = tool;
  const actions = [
    ...firstActions,
    ...(version < "20250124" ? [] : laterActions),
    ...(version < "20251124" || tool.enable_zoom !== true ? [] : ["zoom"]),
  ];
  const size = width && height ? ` of ${width} × ${height} pixels` : "";
  return {
    name: name ?? "computer",
    description: `Uses the mouse and keyboard of a computer with a screen${size}, and takes screenshots.`,
    parameters: objectOf(
      {
        action: choice(actions),
        coordinate: integers(2, "The position [x, y] of a mouse action"),
        start_coordinate: integers(2, "The position [x, y] where left_click_drag starts"),
        text: text("The text to type, the key to press, or the keys to hold during a click"),
        duration: { type: "number", description: "Seconds, for hold_key and wait" },
        scroll_direction: choice(["up", "down", "left", "right"]),
        scroll_amount: { type: "integer", description: "How many clicks of the wheel to scroll" },
        region: integers(4, "The corners [x0, y0, x1, y1] of the region that zoom shows"),
      },
      ["action"],
    ),
  };
}
