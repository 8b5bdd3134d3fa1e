import { expect, test } from "vitest";
import type { TypedTool } from "../schema.ts";
import { toClientTool } from "./client-tools.ts";

const define = (type: string, more: object = {}) =>
  // The static type of other types is a value that no client sends.
  toClientTool({ type, ...more } as unknown as TypedTool);
const propertiesOf = (type: string, more: object = {}) => {
  const properties = define(type, more)?.parameters?.["properties"];
  return Object.keys(properties ?? {});
};
const editing = ["view_range", "file_text", "old_str", "new_str", "insert_line"];

test("each tool that the client runs has the properties that its client reads", () => {
  expect(define("bash_20250124")?.name).toBe("bash");
  expect(propertiesOf("bash_20250124")).toEqual(["command", "restart"]);
  expect(define("text_editor_20250728")).toMatchObject({
    name: "str_replace_based_edit_tool",
    parameters: {
      properties: { command: { enum: ["view", "create", "str_replace", "insert"] } },
      required: ["command", "path"],
    },
  });
  expect(propertiesOf("text_editor_20250728")).toEqual(["command", "path", ...editing, "insert_text"]);
  expect(define("memory_20250818")?.name).toBe("memory");
  const renaming = ["insert_text", "old_path", "new_path"];
  expect(propertiesOf("memory_20250818")).toEqual(["command", "path", ...editing, ...renaming]);
  expect(propertiesOf("computer_20251124")).toEqual([
    "action",
    "coordinate",
    "start_coordinate",
    "text",
    "duration",
    "scroll_direction",
    "scroll_amount",
    "region",
  ]);
});

test("earlier versions have their own names and commands", () => {
  for (const type of ["text_editor_20241022", "text_editor_20250124"]) {
    expect(define(type)).toMatchObject({
      name: "str_replace_editor",
      parameters: { properties: { command: { enum: expect.arrayContaining(["undo_edit"]) } } },
    });
    expect(propertiesOf(type)).toEqual(["command", "path", ...editing]);
  }
  expect(define("text_editor_20250429")?.name).toBe("str_replace_based_edit_tool");
  expect(JSON.stringify(define("computer_20241022"))).not.toContain('"scroll"');
  expect(JSON.stringify(define("computer_20250124"))).toContain('"scroll"');
});

test("the screen's size and zoom are those of the request", () => {
  const screen = { display_width_px: 1024, display_height_px: 768 };
  expect(define("computer_20251124", screen)?.description).toContain("1024 × 768 pixels");
  expect(JSON.stringify(define("computer_20251124", screen))).not.toContain('"zoom"');
  expect(JSON.stringify(define("computer_20251124", { enable_zoom: true }))).toContain('"zoom"');
});

test("other types are no tools that the client runs", () => {
  for (const type of ["web_search_20250305", "bash", "bash_2025", "constructor_20250124", "mcp_toolset"]) {
    expect(define(type)).toBeUndefined();
  }
});
