import type { TransferProgress } from "../../models/transfers/transfer.ts";
import { bareDigest } from "./write-model.ts";

/** One object of a progress; programs show a bar of those with a digest. */
export type Status = {
  readonly status: string;
  readonly digest?: string;
  readonly total?: number;
  readonly completed?: number;
};

const shownDigits = 12;

/** In the words that programs of this family look for. */
export function writeTransferStep(step: TransferProgress, direction: "pull" | "push"): Status {
  switch (step.step) {
    case "reading-manifest":
      return { status: direction === "pull" ? "pulling manifest" : "retrieving manifest" };
    case "moving-layer":
      return {
        status: `${direction}ing ${bareDigest(step.digest).slice(0, shownDigits)}`,
        digest: step.digest,
        total: step.totalBytes,
        ...(step.completedBytes === undefined ? {} : { completed: step.completedBytes }),
      };
    case "verifying":
      return { status: "verifying sha256 digest" };
    case "writing-manifest":
      return { status: direction === "pull" ? "writing manifest" : "pushing manifest" };
    case "removing-unused":
      return { status: "removing unused layers" };
  }
}
