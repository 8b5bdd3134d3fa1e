import type { StoredRepository } from "./repository.ts";

/** Names of the repositories that a token grants access to, by token. */
export type HubGrants = Readonly<Record<string, readonly string[]>>;

export type Refusal = {
  readonly status: 400 | 401 | 403 | 404;
  /** The Hub's X-Error-Code, which its clients read. */
  readonly code?: "GatedRepo" | "RepoNotFound" | "RevisionNotFound" | "EntryNotFound";
  readonly message: string;
};

export type HubRequest = {
  readonly authorization: string | undefined;
  readonly name: string;
  readonly revision: string;
  /** Whether the response contains file content, or only names and sizes. */
  readonly readsFiles: boolean;
};

export type HubContents = {
  readonly repositories: ReadonlyMap<string, StoredRepository>;
  readonly grants: HubGrants;
};

/** The requested repository, or the reason for denial; a private one is indistinguishable from an absent one. */
export function openRepository(request: HubRequest, contents: HubContents): StoredRepository | Refusal {
  const token = /^Bearer (.+)$/.exec(request.authorization ?? "")?.[1];
  if (
    request.authorization !== undefined &&
    (token === undefined || !Object.hasOwn(contents.grants, token))
  ) {
    return { status: 401, message: "Invalid credentials in Authorization header" };
  }
  const repository = contents.repositories.get(request.name);
  const isGranted = token !== undefined && (contents.grants[token] ?? []).includes(request.name);
  if (repository === undefined || (repository.access === "private" && !isGranted)) {
    return token === undefined
      ? { status: 401, message: "Invalid username or password." }
      : { status: 404, code: "RepoNotFound", message: "Repository not found" };
  }
  if (repository.access === "gated" && request.readsFiles && !isGranted) return denyGated(repository, token);
  if (request.revision !== "main" && request.revision !== repository.commit) {
    return { status: 404, code: "RevisionNotFound", message: `Invalid rev id: ${request.revision}` };
  }
  return repository;
}

export function isRefusal<Value extends object>(value: Value | Refusal): value is Refusal {
  return "status" in value;
}

function denyGated({ name }: StoredRepository, token: string | undefined): Refusal {
  const restricted = `Access to model ${name} is restricted`;
  return token === undefined
    ? { status: 401, code: "GatedRepo", message: `${restricted} and needs authentication` }
    : { status: 403, code: "GatedRepo", message: `${restricted} and you are not in the authorized list` };
}
