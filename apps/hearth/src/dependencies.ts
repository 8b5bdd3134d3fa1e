import type { HttpRequest, WebFiles } from "@hearth-and-keep/http-service";
import type { Actor } from "./access/authenticate.ts";
import type { ResponseStore } from "./dialects/openai/responses/response-store.ts";
import type { FetchImage } from "./images/fetch-image.ts";
import type { Metrics } from "./metrics.ts";
import type { Catalog } from "./models/catalog.ts";
import type { Transfers } from "./models/transfers/transfer.ts";
import type { OpenApiDocuments } from "./openapi/create-document.ts";
import type { Scheduler } from "./scheduling/scheduler.ts";

/** The services that handlers use, created once at start. */
export type HearthDependencies = {
  readonly models: Catalog;
  readonly transfers: Transfers;
  readonly scheduler: Scheduler;
  readonly metrics: Metrics;
  readonly documents: OpenApiDocuments;
  /** Files of the web UI; empty when it was not built. */
  readonly webUiFiles: WebFiles;
  /** True while the server finishes running requests before it stops. */
  readonly isDraining?: () => boolean;
  /** Conversations that clients continue by id; absent unless storing them is enabled. */
  readonly responses?: ResponseStore;
  /** Absent unless image hosts are configured. */
  readonly fetchImage?: FetchImage | undefined;
};

/** An authenticated request whose body matches the schema of its route. */
export type HearthRequest<Body = unknown> = HttpRequest<Actor, Body>;
