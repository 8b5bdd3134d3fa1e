type ByteRange =
  | { readonly kind: "whole" }
  | { readonly kind: "part"; readonly first: number; readonly last: number }
  | { readonly kind: "unsatisfiable" };

/** RFC 9110 section 14: a single range is honoured; several ranges or a malformed header mean the whole content. */
export function readRange(header: string | undefined, size: number): ByteRange {
  const [, from, to] = /^bytes=(\d*)-(\d*)$/.exec(header ?? "") ?? [];
  if (from === undefined || to === undefined || (from === "" && to === "")) return { kind: "whole" };
  if (from === "") {
    const length = Math.min(Number(to), size);
    return length === 0 ? { kind: "unsatisfiable" } : { kind: "part", first: size - length, last: size - 1 };
  }
  const first = Number(from);
  const last = to === "" ? size - 1 : Math.min(Number(to), size - 1);
  if (to !== "" && Number(to) < first) return { kind: "whole" };
  return first >= size ? { kind: "unsatisfiable" } : { kind: "part", first, last };
}
