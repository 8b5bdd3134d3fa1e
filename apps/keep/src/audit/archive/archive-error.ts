/** Why a month is not archived; the message is what the operator reads. */
export class ArchiveError extends Error {
  override readonly name = "ArchiveError";
}
