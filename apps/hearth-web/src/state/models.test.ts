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

const [embedder, remote, local] = [
  modelOf("embedder", "gguf", "embedding"),
  modelOf("remote", "remote"),
  modelOf("local", "gguf"),
];

test("a remote model is preselected: one on this machine comes first, unless another was used last", () => {
  rememberLast(null);
  expect(defaultModel([embedder, remote, local])).toBe("local");
  expect(defaultModel([embedder, remote])).toBe("remote");
  expect(defaultModel([embedder])).toBeUndefined();
  rememberLast("remote");
  expect(defaultModel([embedder, remote, local])).toBe("remote");
  rememberLast("deleted");
  expect(defaultModel([embedder, remote, local])).toBe("local");
});
