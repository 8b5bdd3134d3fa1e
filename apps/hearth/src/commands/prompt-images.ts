import { readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { callFailure } from "../calling/call-failure.ts";
import { type Conversation, canDo, type Said } from "./conversation.ts";

const mostImageBytes = 32 * 1024 * 1024;
/** A path as people paste or drag it: quoted, with escaped spaces, or plain. */
const paths =
  /"([^"\n]+\.(?:png|jpe?g|gif|bmp|webp))"|'([^'\n]+\.(?:png|jpe?g|gif|bmp|webp))'|((?:~?\.{0,2}\/|\b[\w.-]+\/)(?:\\.|[^\s\\"'])+\.(?:png|jpe?g|gif|bmp|webp))\b/giu;

/** Takes the pictures that a prompt names out of it; a model that cannot see gets the text as it is. */
export async function findImages(text: string, conversation: Conversation): Promise<Said> {
  if (!canDo(conversation, "vision")) return { text, images: [] };
  let rest = text;
  const images: string[] = [];
  for (const [whole, ...groups] of text.matchAll(paths)) {
    const path = (groups.find((group) => group !== undefined) ?? "").replaceAll(/\\(.)/gu, "$1");
    const image = await readImage(path);
    if (image === undefined) continue;
    images.push(image);
    rest = rest.replace(whole, "");
  }
  return { text: rest.trim(), images };
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
  return Promise.all(files.map(requireImage));
}

async function requireImage(file: string): Promise<string> {
  const image = await readImage(file);
  if (image !== undefined) return image;
  const sentence = `Cannot read the picture "${file}": there is no such file, or it is longer than 32 MiB`;
  throw callFailure({ kind: "words-wrong", sentence });
}

async function readImage(file: string): Promise<string | undefined> {
  const path = file.replace(/^~(?=\/)/u, homedir());
  const status = await stat(path).catch(() => undefined);
  if (status?.isFile() !== true || status.size > mostImageBytes) return undefined;
  return (await readFile(path)).toString("base64");
}
