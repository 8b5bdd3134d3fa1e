import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { HearthRequest } from "../../dependencies.ts";
import { bareDigest } from "../../models/store/digest.ts";
import type { TransferProgress } from "../../models/transfers/transfer.ts";
import { streamResponse } from "./stream-response.ts";

/** One progress object. Clients show a progress bar for those with a digest. */
export type ProgressStatus = {
  readonly status: string;
  readonly digest?: string;
  readonly total?: number;
  readonly completed?: number;
};

const shortDigestLength = 12;

/** Uses Ollama's exact texts, which clients match. */
export function writeTransferStatus(step: TransferProgress, direction: "pull" | "push"): ProgressStatus {
  switch (step.step) {
    case "reading-manifest":
      return { status: direction === "pull" ? "pulling manifest" : "retrieving manifest" };
    case "transferring-layer":
      return {
        status: `${direction}ing ${bareDigest(step.digest).slice(0, shortDigestLength)}`,
        digest: step.digest,
        total: step.totalBytes,
        ...(step.completedBytes === undefined ? {} : { completed: step.completedBytes }),
      };
    case "verifying":
      return { status: "verifying sha256 digest" };
    case "writing-manifest":
      return { status: direction === "pull" ? "writing manifest" : "pushing manifest" };
    case "removing-unused-blobs":
      return { status: "removing unused layers" };
  }
}

/** Streams every status. If `stream` is false, sends only the last; a failure then has its own HTTP status. */
export async function progressResponse(
  request: HearthRequest<{ readonly stream?: boolean | null }>,
  statuses: AsyncIterable<ProgressStatus>,
): Promise<HttpResponse> {
  if (request.body.stream !== false) return streamResponse(request, statuses, {});
  let last: ProgressStatus = { status: "success" };
  for await (const status of statuses) last = status;
  return jsonResponse(last);
}
