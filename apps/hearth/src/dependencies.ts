import type { Call, WebFiles } from "@hearth-and-keep/http-service";
import type { Caller } from "./access/caller.ts";
import type { ResponseStore } from "./dialects/openai/responses/response-store.ts";
import type { FetchImage } from "./images/fetch-image.ts";
import type { Metrics } from "./metrics.ts";
import type { Catalog } from "./models/catalog.ts";
import type { Transfers } from "./models/transfers/transfer.ts";
import type { ApiDocuments } from "./openapi/describe-api.ts";
import type { Scheduler } from "./scheduling/scheduler.ts";

/** What handlers work with, made once at start. */
export type HearthParts = {
  readonly models: Catalog;
  readonly transfers: Transfers;
  readonly scheduler: Scheduler;
  readonly metrics: Metrics;
  readonly documents: ApiDocuments;
  /** The files of the browser page; none when it was not built. */
  readonly page: WebFiles;
  /** Whether the server was asked to end, and only finishes; balancers are told. */
  readonly isDraining?: () => boolean;
  /** Conversations that callers continue by an id; absent unless it was asked for. */
  readonly responses?: ResponseStore;
  /** Absent unless hosts of images were named. */
  readonly fetchImage?: FetchImage | undefined;
};

/** One request of somebody we know, its body already checked against the row's schema. */
export type HearthCall<Body = unknown> = Call & {
  readonly caller: Caller;
  readonly body: Body;
  /** Called for every piece of an answer, so that its speed is seen before it ends. */
  readonly countPiece: () => void;
};
