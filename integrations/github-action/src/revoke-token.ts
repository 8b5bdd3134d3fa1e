import { AccessDeniedError } from "../../../sdks/typescript/src/errors.ts";
import { sendRequest } from "../../../sdks/typescript/src/http.ts";

/** A token that is revoked already, or has expired, is not an error. */
export async function revokeToken({
  server,
  token,
}: {
  readonly server: string;
  readonly token: string;
}): Promise<void> {
  const request = {
    method: "DELETE",
    url: new URL("/api/secrets/tokens/self", server),
    headers: { authorization: `Bearer ${token}` },
    isRepeatable: true,
  } as const;
  await sendRequest(request, { timeoutSeconds: 10, maxRetries: 3 }).catch((error: unknown) => {
    if (!(error instanceof AccessDeniedError) || error.status !== 401) throw error;
  });
}
