import type { HttpRequest, WebFiles } from "@hearth-and-keep/http-service";
import type { Actor } from "./access/authenticate.ts";
import type { Batch } from "./batches/batch.ts";
import type { Batches } from "./batches/batches.ts";
import type { KeyedStore } from "./batches/keyed-store.ts";
import type { StoredFile } from "./batches/stored-file.ts";
import type { OpenAIBatch } from "./dialects/openai/batches/openai-batch.ts";
import type { ReasoningSeal } from "./dialects/openai/responses/reasoning-seal.ts";
import type { ResponseStore } from "./dialects/openai/responses/response-store.ts";
import type { CountTokens } from "./generation/run-generation.ts";
import type { FetchImage } from "./images/fetch-image.ts";
import type { UsageLedger } from "./key-store/usage-ledger.ts";
import type { Metrics } from "./metrics.ts";
import type { AliasStore } from "./models/aliases/alias-store.ts";
import type { Catalog } from "./models/catalog.ts";
import type { Transfers } from "./models/transfers/transfer.ts";
import type { OpenApiDocuments } from "./openapi/create-document.ts";
import type { Scheduler } from "./scheduling/scheduler.ts";

/** The services that handlers use, created once at start. */
export type HearthDependencies = {
  readonly models: Catalog;
  readonly aliases: AliasStore;
  readonly transfers: Transfers;
  readonly scheduler: Scheduler;
  readonly metrics: Metrics;
  readonly documents: OpenApiDocuments;
  /** Files of the web UI; empty when it was not built. */
  readonly webUiFiles: WebFiles;
  /** True while the server finishes running requests before it stops. */
  readonly isDraining?: () => boolean;
  /** Responses that clients continue by id; absent if storing them is disabled. */
  readonly responses?: ResponseStore;
  /** Requests that run in the background. */
  readonly batches: Batches;
  /** Batches of the Anthropic API. */
  readonly messageBatches: KeyedStore<Batch>;
  readonly openaiBatches: KeyedStore<OpenAIBatch>;
  /** Uploaded files, and the results of batches of the OpenAI API. */
  readonly files: KeyedStore<StoredFile>;
  /** What finished requests have used; absent unless keys are in a database. */
  readonly ledger?: Pick<UsageLedger, "sumUsage" | "listUsage">;
  /** Encrypts reasoning that clients keep. */
  readonly reasoningSeal: ReasoningSeal;
  /** Absent unless image hosts are configured. */
  readonly fetchImage?: FetchImage | undefined;
  /** Absent if PDFs cannot be read. */
  readonly readPdf?: ReadPdf | undefined;
};

/** Extracts the text of a PDF. Rejects if it has none or cannot be parsed within the reader's limits. */
export type ReadPdf = (bytes: Uint8Array, signal: AbortSignal) => Promise<string>;

/** An authenticated request whose body matches the schema of its route. */
export type HearthRequest<Body = unknown> = HttpRequest<Actor, Body> & {
  /** Present if tokens of its key are counted. */
  readonly countTokens?: CountTokens;
};
