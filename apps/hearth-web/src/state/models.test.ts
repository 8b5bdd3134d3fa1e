import { afterEach, expect, test, vi } from "vitest";
import { defaultModel, type Model } from "./models.ts";

afterEach(() => vi.unstubAllGlobals());

function modelOf(name: string, format: string, capability = "completion"): Model {
  // Only these fields decide.
  return { name, capabilities: [capability], details: { format } } as unknown as Model;
}

function rememberLast(name: string | null): void {
  vi.stubGlobal("localStorage", { getItem: () => name });
}

const [embedder, pooled, local, remote] = [
  modelOf("embedder", "gguf", "embedding"),
  { ...modelOf("pooled", "remote"), runs_on: "pool" } as const,
  modelOf("local", "gguf"),
  { ...modelOf("remote", "remote"), runs_on: "remote" } as const,
];

test("a model of this machine is preselected, then one of the operator's network, unless another was used last", () => {
  rememberLast(null);
  expect(defaultModel([embedder, pooled, local])).toBe("local");
  expect(defaultModel([embedder, pooled])).toBe("pooled");
  expect(defaultModel([embedder])).toBeUndefined();
  rememberLast("pooled");
  expect(defaultModel([embedder, pooled, local])).toBe("pooled");
  rememberLast("deleted");
  expect(defaultModel([embedder, pooled, local])).toBe("local");
});

test("a model outside the operator's network is never preselected, not even if it was used last", () => {
  for (const last of [null, "remote"]) {
    rememberLast(last);
    expect(defaultModel([remote, local])).toBe("local");
    expect(defaultModel([remote, pooled])).toBe("pooled");
    expect(defaultModel([remote])).toBeUndefined();
  }
});
