import { readState } from "./config.ts";
import { revokeToken } from "./revoke-token.ts";
import { writeWarning } from "./workflow-commands.ts";

const { server, token } = readState();
if (token !== "") {
  // The token expires by itself within the hour, so that the job need not fail.
  await revokeToken({ server, token }).catch((error: unknown) => {
    writeWarning(`Cannot revoke the token: ${error instanceof Error ? error.message : "unknown error"}`);
  });
}
