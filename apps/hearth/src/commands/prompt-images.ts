import { readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { callFailure } from "../server-client/call-failure.ts";
import { type Conversation, hasCapability, type UserMessage } from "./conversation.ts";

const maxImageBytes = 32 * 1024 * 1024;
/** Paths as people paste or drag them: quoted, with escaped spaces, or plain. URLs are matched to be skipped. */
const imagePaths =
  /"([^"\n]+\.(?:png|jpe?g|gif|bmp|webp))"|'([^'\n]+\.(?:png|jpe?g|gif|bmp|webp))'|\b[a-z][a-z\d+.-]*:\/\/\S+|((?:~?\.{0,2}\/|\b[\w.-]+\/)(?:\\.|[^\s\\"'])+\.(?:png|jpe?g|gif|bmp|webp))\b/giu;

/** Replaces image paths in a prompt by the images. Without vision support, the text is sent unchanged. */
export async function extractImages(text: string, conversation: Conversation): Promise<UserMessage> {
  if (!hasCapability(conversation, "vision")) return { text, images: [] };
  let remaining = text;
  const images: string[] = [];
  for (const [match, ...groups] of text.matchAll(imagePaths)) {
    const path = (groups.find((group) => group !== undefined) ?? "").replaceAll(/\\(.)/gu, "$1");
    if (path === "" || !(await isImageReference(path))) continue;
    images.push(await readImage(path, "check the path; a bare file name is sent as text"));
    remaining = remaining.replace(match, () => "");
  }
  return { text: remaining.trim(), images };
}

/** A bare quoted name counts only if the file exists; a path with a folder always does, and is an error if missing. */
async function isImageReference(path: string): Promise<boolean> {
  const isUrl = path.includes("://");
  return !isUrl && (path.includes("/") || (await findFile(path)) !== undefined);
}

export async function readImages(
  files: readonly string[],
  conversation: Conversation,
): Promise<readonly string[]> {
  if (files.length > 0 && !hasCapability(conversation, "vision")) {
    const message = `${conversation.model} does not support images`;
    throw callFailure({
      kind: "usage-error",
      message,
      next: `run "hearth show ${conversation.model}" to see its capabilities`,
    });
  }
  return Promise.all(files.map((file) => readImage(file, "check the path after --image")));
}

async function readImage(file: string, next: string): Promise<string> {
  const found = await findFile(file);
  const imageError = (reason: string, cause?: unknown): Error => {
    const message = `Cannot read the image "${file}": ${reason}`;
    return callFailure({ kind: "usage-error", message, next }, { cause });
  };
  if (found === undefined) throw imageError("no such file");
  if (found.bytes > maxImageBytes) throw imageError("it is larger than 32 MiB");
  try {
    return (await readFile(found.path)).toString("base64");
  } catch (cause) {
    throw imageError("permission denied", cause);
  }
}

async function findFile(
  file: string,
): Promise<{ readonly path: string; readonly bytes: number } | undefined> {
  const path = file.replace(/^~(?=\/)/u, homedir());
  const status = await stat(path).catch(() => undefined);
  return status?.isFile() === true ? { path, bytes: status.size } : undefined;
}
