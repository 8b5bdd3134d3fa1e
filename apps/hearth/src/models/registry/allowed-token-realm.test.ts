import { expect, test } from "vitest";
import { parseAllowedRealm } from "./allowed-token-realm.ts";

test.for([
  ["https://registry.example/token", "https://registry.example"],
  ["https://registry.example:8443/token", "https://registry.example"],
  ["https://auth.docker.io/token", "https://registry-1.docker.io"],
  ["https://ollama.com/token", "https://registry.ollama.ai"],
  ["https://huggingface.co/v2/token", "https://hf.co"],
  ["https://hf.co/v2/token", "https://huggingface.co"],
  ["https://ghcr.io/token", "https://ghcr.io"],
  ["https://gitlab.com/jwt/auth", "https://registry.gitlab.com"],
  ["http://127.0.0.1:5001/token", "http://127.0.0.1:5000"],
  ["https://127.0.0.1:5001/token", "http://127.0.0.1:5000"],
] as const)("the realm %s is allowed for %s", ([realm, registry]) => {
  expect(parseAllowedRealm(realm, new URL(registry))?.href).toBe(new URL(realm).href);
});

test.for([
  ["https://evil.example/token", "https://registry.example"],
  ["https://registry.example.evil.example/token", "https://registry.example"],
  ["https://auth.registry.example/token", "https://registry.example"],
  ["http://registry.example/token", "https://registry.example"],
  ["https://name:password@registry.example/token", "https://registry.example"],
  ["https://registry.example@evil.example/token", "https://registry.example"],
  ["https://registry.example\\@evil.example/token", "https://evil.example.org"],
  ["file:///etc/passwd", "https://registry.example"],
  ["https://auth.docker.io/token", "https://registry.example"],
  ["https://huggingface.co/token", "https://registry.ollama.ai"],
  ["//evil.example/token", "https://registry.example"],
  ["", "https://registry.example"],
  [`https://registry.example/${"a".repeat(4096)}`, "https://registry.example"],
] as const)("the realm %s is rejected for %s", ([realm, registry]) => {
  expect(parseAllowedRealm(realm, new URL(registry))).toBeUndefined();
});
