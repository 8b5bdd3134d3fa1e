const reasons: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  ENOENT: "the path does not exist and cannot be created",
  ENOTDIR: "part of the path is a file, not a folder",
  EEXIST: "part of the path is a file, not a folder",
  EISDIR: "it is a folder, not a file",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is exceeded",
  ELOOP: "the path has a loop of symbolic links",
  ENAMETOOLONG: "the path is too long",
};

/** Why a file cannot be written, in plain words; undefined for an error that is not about a file. */
export function explainFileError(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error) || !("syscall" in error)) return undefined;
  return reasons[String(error.code)] ?? "the disk reports an error";
}
