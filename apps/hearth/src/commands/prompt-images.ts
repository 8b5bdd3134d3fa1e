import { readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { callFailure } from "../server-client/call-failure.ts";
import { type Conversation, canDo, type Said } from "./conversation.ts";

const mostImageBytes = 32 * 1024 * 1024;
/** A path as people paste or drag it: quoted, with escaped spaces, or plain; an address on the web is none. */
const paths =
  /"([^"\n]+\.(?:png|jpe?g|gif|bmp|webp))"|'([^'\n]+\.(?:png|jpe?g|gif|bmp|webp))'|\b[a-z][a-z\d+.-]*:\/\/\S+|((?:~?\.{0,2}\/|\b[\w.-]+\/)(?:\\.|[^\s\\"'])+\.(?:png|jpe?g|gif|bmp|webp))\b/giu;

/** Takes the pictures that a prompt names out of it; a model that cannot see gets the text as it is. */
export async function findImages(text: string, conversation: Conversation): Promise<Said> {
  if (!canDo(conversation, "vision")) return { text, images: [] };
  let rest = text;
  const images: string[] = [];
  for (const [whole, ...groups] of text.matchAll(paths)) {
    const path = (groups.find((group) => group !== undefined) ?? "").replaceAll(/\\(.)/gu, "$1");
    if (path === "" || !(await isMeant(path))) continue;
    images.push(await readImage(path, "correct the path; a name without its folder is read as words"));
    rest = rest.replace(whole, () => "");
  }
  return { text: rest.trim(), images };
}

/** A name in quotes may be a word like others; with a folder before it, a picture is meant, and missing it is told. */
async function isMeant(path: string): Promise<boolean> {
  const isAddress = path.includes("://");
  return !isAddress && (path.includes("/") || (await fileAt(path)) !== undefined);
}

export async function readImages(
  files: readonly string[],
  conversation: Conversation,
): Promise<readonly string[]> {
  if (files.length > 0 && !canDo(conversation, "vision")) {
    const sentence = `Cannot show pictures to ${conversation.model}: it does not see`;
    throw callFailure({
      kind: "words-wrong",
      sentence,
      next: `hearth show ${conversation.model} lists what it can do`,
    });
  }
  return Promise.all(files.map((file) => readImage(file, "correct the path after --image")));
}

async function readImage(file: string, next: string): Promise<string> {
  const found = await fileAt(file);
  const refuse = (why: string, cause?: unknown): Error => {
    const sentence = `Cannot read the picture "${file}": ${why}`;
    return callFailure({ kind: "words-wrong", sentence, next }, { cause });
  };
  if (found === undefined) throw refuse("there is no such file");
  if (found.bytes > mostImageBytes) throw refuse("it is longer than 32 MiB");
  try {
    return (await readFile(found.path)).toString("base64");
  } catch (cause) {
    throw refuse("it may not be read", cause);
  }
}

async function fileAt(file: string): Promise<{ readonly path: string; readonly bytes: number } | undefined> {
  const path = file.replace(/^~(?=\/)/u, homedir());
  const status = await stat(path).catch(() => undefined);
  return status?.isFile() === true ? { path, bytes: status.size } : undefined;
}
