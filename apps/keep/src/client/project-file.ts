import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { explainFileError } from "@hearth-and-keep/failures";
import { parse, stringify } from "smol-toml";
import { Type } from "typebox";
import { Value } from "typebox/value";
import { clientFailure } from "./client-failure.ts";

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

const maxCharacters = 65_536;

/** The nearest one, in the folder or above it; every package of a monorepo can have its own. */
export async function findProjectFile(folder: string): Promise<ProjectFile | undefined> {
  for (let current = folder; ; current = dirname(current)) {
    const file = join(current, projectFileName);
    const text = await readText(file);
    if (text !== undefined) return { file, settings: parseSettings(file, text) };
    if (dirname(current) === current) return undefined;
  }
}

const heading = "# Which secrets of Keep this project uses. Contains no secret, so commit it.\n";

export function formatProjectFile(project: ProjectSettings): string {
  return heading + stringify(project);
}

async function readText(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const isAbsent =
      error instanceof Error && "code" in error && ["ENOENT", "ENOTDIR"].includes(String(error.code));
    if (isAbsent) return undefined;
    const reason = explainFileError(error);
    throw reason === undefined ? error : clientFailure({ kind: "file-unusable", file, reason });
  }
}

function parseSettings(file: string, text: string): ProjectSettings {
  const invalid = (reason: string) => clientFailure({ kind: "project-file-invalid", file, reason });
  if (text.length > maxCharacters) throw invalid("it is too large");
  const parsed = parseToml(text);
  if (parsed === undefined) throw invalid("it is not TOML");
  if (Value.Check(settings, parsed)) return parsed;
  const unknown = Object.keys(parsed).find((name) => !(name in meanings));
  if (unknown !== undefined) throw invalid(`"${unknown}" is no setting`);
  const [name = ""] = Value.Errors(settings, parsed).map(({ instancePath }) => instancePath.slice(1));
  throw invalid(`"${name}" ${meanings[name] ?? "is not valid"}`);
}

function parseToml(text: string): object | undefined {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}
