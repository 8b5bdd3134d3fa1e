import { ApiError } from "../../vault-api/api-client.ts";

/** For a request that cannot be proposed: if it needs an approval, the error says what to do instead. */
export async function explainApproval<Result>(sent: Promise<Result>, explanation: string): Promise<Result> {
  try {
    return await sent;
  } catch (error) {
    if (!needsApproval(error)) throw error;
    throw new ApiError(error.status, { title: explanation, code: error.code });
  }
}

export function explainRestore<Result>(sent: Promise<Result>): Promise<Result> {
  return explainApproval(
    sent,
    "This secret is protected, so it cannot be restored. Create it again with New secret, and propose that.",
  );
}

export function needsApproval(error: unknown): error is ApiError {
  return error instanceof ApiError && error.code === "approval_required";
}
