import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { aiderRequirements, prepareAider } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { pixel } from "../client-fixture.ts";
import { countImages, longPrompt, messagesOf, textModel, visionModel, write } from "./agent-server.ts";
import { launchAgent, openWorkspace, type ProgramResult, runProgram, type Workspace } from "./run-program.ts";
import { countFlows } from "./test-flows.ts";

const fixedArgs = [
  "--yes-always",
  "--no-pretty",
  "--no-fancy-input",
  "--no-check-update",
  "--no-show-release-notes",
  "--analytics-disable",
  "--no-gitignore",
  "--no-suggest-shell-commands",
  "--no-detect-urls",
];

/** A workspace with a repository and an executable of aider. */
async function openRepository(script: FakeEngineScript): Promise<Workspace> {
  const workspace = await openWorkspace(script);
  const { interpreter } = await prepareAider();
  const bin = join(workspace.home, "bin");
  await mkdir(bin);
  await writeFile(join(bin, "aider"), `#!/bin/sh\nexec "${interpreter}" -m aider "$@"\n`);
  await chmod(join(bin, "aider"), 0o755);
  for (const args of [
    ["init", "--quiet"],
    ["config", "user.name", "Someone"],
    ["config", "user.email", "someone@example.com"],
  ]) {
    await runProgram("git", { workspace, args, environment: {} });
  }
  return workspace;
}

/** `aider --message` with the settings of `hearth launch aider`. */
async function runAider(
  workspace: Workspace,
  args: readonly string[],
  model: string = textModel,
): Promise<string> {
  const { code, output, errors }: ProgramResult = await launchAgent(workspace, [...fixedArgs, ...args], {
    name: "aider",
    folder: join(workspace.home, "bin"),
    model,
    environment: {
      PYTHONUTF8: "1",
      // Without it, importing litellm downloads a price list.
      LITELLM_LOCAL_MODEL_COST_MAP: "True",
    },
  });
  expect(code, output + errors).toBe(0);
  return output;
}

/** Writes the texts in order, and always the same title of a commit. */
function scriptOf(...texts: readonly string[]): FakeEngineScript {
  let taken = 0;
  return (request) => {
    const isTitle = messagesOf(request).some(
      ({ role, content }) => role === "system" && content?.includes("commit message"),
    );
    if (isTitle) return write("feat: change the notes");
    taken += 1;
    return write(texts[Math.min(taken, texts.length) - 1] ?? "");
  };
}

/** As aider's default format wants it: the name and the whole file. */
function wholeFile(name: string, content: string): string {
  return `Here it is:\n\n${name}\n\`\`\`\n${content}\`\`\`\n`;
}

function replaceBlock(name: string, before: string, after: string): string {
  return `${name}\n\`\`\`\n<<<<<<< SEARCH\n${before}=======\n${after}>>>>>>> REPLACE\n\`\`\`\n`;
}

async function readLog(workspace: Workspace): Promise<string> {
  const { output } = await runProgram("git", { workspace, args: ["log", "--format=%s"], environment: {} });
  return output;
}

async function writesAndCommits(): Promise<void> {
  await using workspace = await openRepository(scriptOf(wholeFile("notes.txt", "new\n")));
  await workspace.write("notes.txt", "old\n");
  await runAider(workspace, ["--message", "Change the notes", "notes.txt"]);
  expect(await workspace.read("notes.txt")).toBe("new\n");
  expect(await readLog(workspace)).toContain("feat: change the notes\n");
  const calls = workspace.server.logRecords().filter(({ route }) => route === "POST /v1/chat/completions");
  expect(new Set(calls.map(({ status }) => status))).toEqual(new Set([200]));
}

async function correctsEdit(): Promise<void> {
  await using workspace = await openRepository(
    scriptOf(replaceBlock("notes.txt", "absent\n", "new\n"), replaceBlock("notes.txt", "old\n", "new\n")),
  );
  await workspace.write("notes.txt", "old\n");
  await runAider(workspace, ["--edit-format", "diff", "--message", "Change the notes", "notes.txt"]);
  expect(await workspace.read("notes.txt")).toBe("new\n");
}

async function correctsFailedTest(): Promise<void> {
  await using workspace = await openRepository(
    scriptOf(wholeFile("notes.txt", "wrong\n"), wholeFile("notes.txt", "right\n")),
  );
  await workspace.write("notes.txt", "old\n");
  const testing = ["--auto-test", "--test-cmd", "grep right notes.txt || (echo not right; exit 1)"];
  await runAider(workspace, [...testing, "--message", "Change the notes", "notes.txt"]);
  expect(await workspace.read("notes.txt")).toBe("right\n");
  const contents = workspace.server.requests.flatMap((request) =>
    messagesOf(request).map(({ content }) => String(content)),
  );
  expect(contents.some((content) => content.includes("not right"))).toBe(true);
}

async function seesImage(): Promise<void> {
  await using workspace = await openRepository(scriptOf("A chart"));
  await workspace.write("chart.png", Buffer.from(pixel, "base64"));
  const output = await runAider(workspace, ["--message", "What is this?", "chart.png"], visionModel);
  expect(output).toContain("A chart");
  expect(countImages(workspace.server.requests[0])).toBe(1);
}

async function continuesHistory(): Promise<void> {
  await using workspace = await openRepository(scriptOf("I remember seven", "It was seven"));
  await runAider(workspace, ["--message", "Remember the number seven"]);
  const output = await runAider(workspace, ["--restore-chat-history", "--message", "Which was it?"]);
  expect(output).toContain("It was seven");
  const last = workspace.server.requests.at(-1);
  const contents = (last === undefined ? [] : messagesOf(last)).map(({ content }) => String(content));
  expect(contents.join("\n")).toContain("I remember seven");
}

async function saysContextIsFull(): Promise<void> {
  await using workspace = await openRepository(scriptOf("Never"));
  const output = await runAider(workspace, ["--message", longPrompt]);
  expect(output).toContain("has hit a token limit");
  expect(workspace.server.requests).toEqual([]);
}

const flows = countFlows("aider 0.86.2");

test("every locked requirement of aider has a hash", async () => {
  const locked = await readFile(aiderRequirements, "utf8");
  const blocks = locked.split(/\n(?=\S)/u).filter((block) => block.includes("=="));
  expect(blocks.length).toBeGreaterThan(50);
  expect(blocks.filter((block) => !block.includes("--hash=sha256:"))).toEqual([]);
});

// Its environment takes two minutes and half a gigabyte, which is too much for CI.
flows.testMore([
  { name: "aider: a file is written and committed", run: writesAndCommits },
  { name: "aider: an edit that does not apply is corrected", run: correctsEdit },
  { name: "aider: a failed test is corrected", run: correctsFailedTest },
  { name: "aider: the model sees an image of the prompt", run: seesImage },
  { name: "aider: the last chat is continued with its history", run: continuesHistory },
  { name: "aider: a prompt beyond the context ends with that reason", run: saysContextIsFull },
]);
