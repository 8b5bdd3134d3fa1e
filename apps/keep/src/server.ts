import {
  createHttpService,
  type HttpService,
  logDefect,
  type RequestHead,
  requestLogFields,
  type Transport,
} from "@hearth-and-keep/http-service";
import type { Logger } from "@hearth-and-keep/logging";
import manifest from "../package.json" with { type: "json" };
import { type AccessDependencies, admit, admitAgain } from "./access/authenticate.ts";
import { createDenialRecorder, findDeniedPath, isDenial } from "./access/record-denials.ts";
import { type Actor, formatActor } from "./authorization/actor.ts";
import type { KeepDependencies } from "./dependencies.ts";
import { explainInvalid } from "./explain-invalid.ts";
import { notFoundPage } from "./not-found-page.ts";
import { oauthErrorResponse } from "./oauth-errors.ts";
import { describeApi } from "./openapi/describe-api.ts";
import { asRequestFailure, failureFields, problemResponse } from "./problems.ts";
import type { KeepRoute } from "./route-row.ts";
import { routes } from "./routes.ts";

/** Fields that Keep may log. */
export const logFields = [
  ...requestLogFields,
  "url",
  "applied",
  "schemaNumber",
  "fingerprint",
  "actor",
  "account",
  "records",
  "refusal",
  "outcome",
  "skippedGroups",
] as const;

export type KeepLogger = Logger<(typeof logFields)[number]>;

const maxBodyBytes = 2 * 1024 * 1024;

export type ServerDependencies = Omit<KeepDependencies, "apiDocument"> & {
  readonly logger: KeepLogger;
  readonly access: AccessDependencies;
  /** Plain HTTP without a proxy by default. */
  readonly transport?: Transport;
};

/** Keep as an HTTP server: the route table with authentication, problem documents, logs, metrics and denials. */
export function createVaultServer({ transport, ...dependencies }: ServerDependencies): HttpService {
  const { logger, access, metrics } = dependencies;
  const headers = securityHeaders(access.publicUrl);
  const actors = new WeakMap<RequestHead, Actor>();
  const recordDenial = createDenialRecorder(dependencies.audit);
  const onAuthenticated = (head: RequestHead, actor: Actor): void => {
    actors.set(head, actor);
    head.addLogFields({ actor: formatActor(actor), account: actor.accountId });
  };
  const guardedAccess: AccessDependencies = {
    ...access,
    // Depends on the port, which is known only when the server listens.
    get publicUrl() {
      return access.publicUrl;
    },
    onAuthenticated,
    onMisuse: ({ head, row }, actor, reason) => {
      // Only rows of the route table are admitted.
      const route = formatRoute(row as KeepRoute);
      recordDenial({ actor, route, target: head.path, reason });
    },
  };
  return createHttpService<KeepRoute, Actor, KeepDependencies>({
    routes,
    dependencies: { ...dependencies, apiDocument },
    maxBodyBytes,
    authenticate: async (head, row) => {
      const actor = await authenticate(head, row, guardedAccess);
      // Handlers of public rows have no actor and never read it.
      return actor as Actor;
    },
    // As above.
    authenticateAgain: async (head, row) => (await admitAgain(head, row, guardedAccess)) as Actor,
    explainInvalid,
    addHeaders: () => headers,
    ...transport,
    toErrorResponse: (error, row, head) => {
      const failure = asRequestFailure(error);
      head.addLogFields(failureFields(failure));
      const actor = actors.get(head);
      if (actor !== undefined && row !== undefined && isDenial(failure)) {
        const target = findDeniedPath(failure) ?? head.path;
        recordDenial({ actor, route: formatRoute(row), target, reason: failure.kind });
      }
      const page = row === undefined ? notFoundPage(head, failure, dependencies) : undefined;
      const oauthError = row?.errors === "oauth" ? oauthErrorResponse(failure) : undefined;
      return page ?? oauthError ?? problemResponse(error, head.requestId);
    },
    onError: (error, head) => {
      const { kind } = asRequestFailure(error);
      const { requestId } = head;
      if (kind === "integrity-broken") logger.error("Stored data failed its integrity check", { requestId });
      if (kind === "defect") logDefect(logger, error, head);
    },
    recordRequest: (record) => {
      metrics.countRequest(record);
      logger.info("Request completed", record);
    },
  });
}

function formatRoute({ method, path }: KeepRoute): string {
  return `${method} ${path}`;
}

/** Undefined for unknown paths and public rows. */
async function authenticate(
  head: RequestHead,
  row: KeepRoute | undefined,
  access: AccessDependencies,
): Promise<Actor | undefined> {
  if (row === undefined) return undefined;
  try {
    return await admit(head, row, access);
  } finally {
    head.addResponseHeaders(access.limits.headersFor(head));
  }
}

let document: string | undefined;

/** Created and serialized on first use, because few clients read it. */
function apiDocument(): string {
  document ??= JSON.stringify(describeApi(routes, manifest.version));
  return document;
}

/** Responses are not cached, framed or sniffed and load nothing; the console's page relaxes what it needs. */
function securityHeaders(publicUrl: URL): Readonly<Record<string, string>> {
  return {
    "cache-control": "no-store",
    "content-security-policy":
      "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    ...(publicUrl.protocol === "https:" ? { "strict-transport-security": "max-age=63072000" } : {}),
  };
}
