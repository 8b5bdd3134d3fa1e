const reasons: Readonly<Record<string, string>> = {
  EACCES: "you may not write there",
  EPERM: "you may not write there",
  EROFS: "that disk is only read",
  ENOENT: "that place does not exist and cannot be made",
  ENOTDIR: "it is a file, or lies below one",
  EEXIST: "it is a file, or lies below one",
  EISDIR: "it is a folder, not a file",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk is full",
  ELOOP: "its links lead in a circle",
  ENAMETOOLONG: "it is too long",
};

/** Why a place on the disk cannot be written, without the system's code; undefined for what is no such problem. */
export function explainFileProblem(problem: unknown): string | undefined {
  if (!(problem instanceof Error) || !("code" in problem) || !("syscall" in problem)) return undefined;
  return reasons[String(problem.code)] ?? "the disk refuses it";
}
