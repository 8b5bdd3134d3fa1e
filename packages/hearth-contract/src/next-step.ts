import type { ErrorDetails } from "./error-body.ts";
import type { FailureCode } from "./failure-code.ts";

/** What a person can do about an error. The terminal and the web UI each put it in their own words or buttons. */
export type NextStep =
  | { readonly action: "pull-model"; readonly model: string }
  | { readonly action: "check-name" }
  | { readonly action: "retry"; readonly afterSeconds: number | undefined }
  | { readonly action: "provide-key" }
  | { readonly action: "correct-key" }
  | { readonly action: "use-admin-key" }
  | { readonly action: "use-allowed-address" }
  | { readonly action: "use-smaller-model" }
  | {
      readonly action: "use-capable-model";
      readonly model: string | undefined;
      readonly capability: string | undefined;
    }
  | { readonly action: "use-local-model" }
  /** With `promptTokens` if a larger context can be set. */
  | { readonly action: "shorten-prompt"; readonly promptTokens: number | undefined }
  | { readonly action: "send-less" }
  | { readonly action: "free-disk-space" }
  | { readonly action: "replace-model"; readonly model: string | undefined }
  | { readonly action: "replace-file" }
  | { readonly action: "specify-source" }
  | { readonly action: "allow-registry"; readonly host: string | undefined }
  | { readonly action: "check-registry-access"; readonly host: string | undefined }
  | { readonly action: "check-connection" }
  | { readonly action: "use-owning-program" }
  | { readonly action: "edit-engines-file" }
  | { readonly action: "check-server-version" }
  | { readonly action: "check-server-log" };

/** Undefined where the message itself says all there is to do, e.g. which field of the request to correct. */
export function nextStepFor(code: FailureCode, details: ErrorDetails = {}): NextStep | undefined {
  return steps[code](details);
}

/** For responses without a code: from a proxy, or from another server. */
export function nextStepForStatus(status: number): NextStep | undefined {
  switch (status) {
    case 401:
      return { action: "correct-key" };
    case 403:
      return { action: "use-allowed-address" };
    case 413:
      return { action: "send-less" };
    case 429:
    case 502:
    case 503:
    case 504:
      return { action: "retry", afterSeconds: undefined };
    default:
      return undefined;
  }
}

type StepOf = (details: ErrorDetails) => NextStep | undefined;

const none: StepOf = () => undefined;
const checkName: StepOf = () => ({ action: "check-name" });
const checkServerLog: StepOf = () => ({ action: "check-server-log" });
const retry: StepOf = ({ retry_after_seconds: afterSeconds }) => ({ action: "retry", afterSeconds });
const replaceModel: StepOf = ({ model }) => ({ action: "replace-model", model });
const useCapableModel: StepOf = ({ model, capability }) => ({
  action: "use-capable-model",
  model,
  capability,
});

const steps: Readonly<Record<FailureCode, StepOf>> = {
  "route-not-found": () => ({ action: "check-server-version" }),
  "method-not-allowed": () => ({ action: "check-server-version" }),
  "body-invalid": ({ reason }) =>
    reason === "too-large" || reason === "too-complex" ? { action: "send-less" } : undefined,
  "request-invalid": none,
  "parameter-invalid": none,
  "parameter-out-of-range": none,
  "capability-missing": useCapableModel,
  "image-unreadable": none,
  "audio-unreadable": none,
  "not-supported": useCapableModel,
  "prompt-too-long": ({ prompt_tokens: promptTokens, reason }) => ({
    action: "shorten-prompt",
    promptTokens:
      reason === undefined || reason === "request" || reason === "setting" ? promptTokens : undefined,
  }),
  "schema-unsupported": none,
  "grammar-invalid": none,
  "grammar-too-slow": none,
  "grammar-rejected": none,
  "grammars-suspended": retry,
  "template-failed": none,
  "stored-object-not-found": none,
  "response-not-stored": none,
  "batch-storage-full": none,
  "key-missing": () => ({ action: "provide-key" }),
  "key-invalid": () => ({ action: "correct-key" }),
  "keys-conflict": () => ({ action: "correct-key" }),
  "admin-key-required": () => ({ action: "use-admin-key" }),
  "site-forbidden": () => ({ action: "use-allowed-address" }),
  "rate-limited": retry,
  "budget-exhausted": none,
  "name-invalid": checkName,
  "digest-invalid": none,
  "digest-mismatch": retry,
  "model-not-found": ({ model = "" }) =>
    model === "" ? { action: "check-name" } : { action: "pull-model", model },
  "model-remote": () => ({ action: "use-local-model" }),
  "remote-models-disabled": () => ({ action: "use-local-model" }),
  "model-on-remote-engine": () => ({ action: "edit-engines-file" }),
  "model-source-missing": () => ({ action: "specify-source" }),
  "model-file-invalid": () => ({ action: "replace-file" }),
  "file-dialect-unsupported": none,
  "manifest-invalid": replaceModel,
  "blob-missing": replaceModel,
  "store-read-only": () => ({ action: "use-owning-program" }),
  "store-full": () => ({ action: "free-disk-space" }),
  "store-busy": retry,
  "store-io-error": checkServerLog,
  "address-forbidden": ({ host, reason }) =>
    reason === "private" || reason === "plain" ? { action: "allow-registry", host } : undefined,
  "registry-unreachable": () => ({ action: "check-connection" }),
  "registry-refused": ({ host }) => ({ action: "check-registry-access", host }),
  "registry-response-invalid": checkName,
  "remote-model-not-found": checkName,
  "transfer-corrupted": retry,
  "queue-full": retry,
  "server-busy": retry,
  "server-stopping": retry,
  "model-invalid": replaceModel,
  "model-quarantined": retry,
  "insufficient-memory": () => ({ action: "use-smaller-model" }),
  "load-timed-out": retry,
  "sandbox-unavailable": none,
  "engine-crashed": checkServerLog,
  "engine-hung": checkServerLog,
  "gpu-failed": retry,
  "engine-unloaded": retry,
  "engines-unavailable": retry,
  "internal-error": checkServerLog,
};
