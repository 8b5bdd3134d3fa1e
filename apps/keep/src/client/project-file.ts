import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parse, stringify } from "smol-toml";
import { Type } from "typebox";
import { Check, Errors } from "typebox/value";
import { clientFailure } from "./client-failure.ts";
import { isOwn, readRegularFile } from "./regular-file.ts";

export const projectFileName = ".keep.toml";

const idPattern = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$";
const folderPattern = "^(?:/|(?:/[^/\\p{Cc}]+)+)$";
const environmentPattern = "^[^/\\p{Cc}]+$";

const settings = Type.Object(
  {
    server: Type.Optional(Type.String({ maxLength: 2048 })),
    organisation: Type.Optional(Type.String({ pattern: idPattern, maxLength: 36 })),
    vault: Type.Optional(Type.String({ pattern: idPattern, maxLength: 36 })),
    folder: Type.Optional(Type.String({ pattern: folderPattern, maxLength: 1024 })),
    environment: Type.Optional(Type.String({ pattern: environmentPattern, maxLength: 255 })),
    inherit: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);

const meanings: Readonly<Record<string, string>> = {
  server: "must be the URL of a server",
  organisation: "must be the id of an organisation",
  vault: "must be the id of a vault",
  folder: "must be a path such as /api",
  environment: "must be the name of an environment, such as dev",
  inherit: "must be true or false",
};

/** Which secrets a project uses. Contains no secret. */
export type ProjectSettings = Type.Static<typeof settings>;

export type ProjectFile = { readonly file: string; readonly settings: ProjectSettings };

const maxBytes = 65_536;
const everybodyWrites = 0o002;

/** The nearest one, in the folder or above it; every package of a monorepo can have its own. */
export async function findProjectFile(folder: string): Promise<ProjectFile | undefined> {
  for (let current = folder; ; current = dirname(current)) {
    const text = await readText(current);
    const file = join(current, projectFileName);
    if (text !== undefined) return { file, settings: parseSettings(file, text) };
    if (dirname(current) === current) return undefined;
  }
}

const heading = "# Which secrets of Keep this project uses. Contains no secret, so commit it.\n";

export function formatProjectFile(project: ProjectSettings): string {
  return heading + stringify(project);
}

/** In a folder in which everybody may write, such as /tmp, only a file of this user counts. */
async function readText(folder: string): Promise<string | undefined> {
  const file = join(folder, projectFileName);
  const found = await readRegularFile(file, maxBytes);
  if (found === undefined) return undefined;
  if (!isOwn(found.stats) && ((await stat(folder)).mode & everybodyWrites) !== 0)
    throw clientFailure({ kind: "file-unusable", file, reason: "it belongs to another user" });
  return found.content.toString("utf8");
}

function parseSettings(file: string, text: string): ProjectSettings {
  const invalid = (reason: string) => clientFailure({ kind: "project-file-invalid", file, reason });
  const parsed = parseToml(text);
  if (parsed === undefined) throw invalid("it is not TOML");
  if (Check(settings, parsed)) return parsed;
  const unknown = Object.keys(parsed).find((name) => !(name in meanings));
  if (unknown !== undefined) throw invalid(`"${unknown}" is no setting`);
  const [name = ""] = Errors(settings, parsed).map(({ instancePath }) => instancePath.slice(1));
  throw invalid(`"${name}" ${meanings[name] ?? "is not valid"}`);
}

function parseToml(text: string): object | undefined {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}
