/** Why a recovery file is not written or not opened; the message is what the operator reads. */
export class RecoveryError extends Error {
  override readonly name = "RecoveryError";
}
