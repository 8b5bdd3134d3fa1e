import { appear, press } from "@hearth-and-keep/test-servers";
import {
  abortRequests,
  mockInferenceKey,
  mockJson,
  mockOpenStream,
  openSection,
  type PageState,
  stallRequests,
} from "./screen-state.ts";

const hash = (digit: string): string => `sha256:${digit.repeat(64)}`;

const metrics = (tokens: number): string => `hearth_output_chunks_total ${tokens}
hearth_requests_running 3
hearth_requests_waiting 2
hearth_models_loaded 2
hearth_models_memory_bytes 5700000000
`;

const running = (name: string, size: number) => ({
  name,
  size,
  size_vram: size > 1e9 ? size : 0,
  context_length: 8192,
  protection: "sandboxed by bubblewrap and seccomp, as another user",
  expires_at: new Date(Date.now() + 290_000).toISOString(),
});

export const sectionStates: readonly PageState[] = [
  {
    name: "models",
    reach: async (page, url) => {
      await openSection(page, url, "models");
      await appear(page.getByRole("button", { name: "Details of tiny:latest" }));
    },
  },
  {
    name: "models-empty",
    reach: async (page, url) => {
      await mockJson(page, "**/api/tags", { models: [] });
      await openSection(page, url, "models");
      await appear(page.getByText("No models yet"));
    },
  },
  {
    name: "models-inference-key",
    reach: async (page, url) => {
      await mockInferenceKey(page);
      await openSection(page, url, "models");
      await appear(page.getByText("Pulling and deleting models requires an admin key."));
      await appear(page.getByRole("button", { name: "Details of tiny:latest" }));
    },
  },
  {
    name: "models-empty-inference-key",
    reach: async (page, url) => {
      await mockInferenceKey(page);
      await mockJson(page, "**/api/tags", { models: [] });
      await openSection(page, url, "models");
      await appear(page.getByText("Ask whoever runs this server to pull one."));
    },
  },
  {
    name: "models-loading",
    reach: async (page, url) => {
      await stallRequests(page, "**/api/tags");
      await openSection(page, url, "models");
      await appear(page.getByRole("status", { name: "Loading models" }));
    },
  },
  {
    name: "models-unreachable",
    isRefused: true,
    reach: async (page, url) => {
      await abortRequests(page, "**/api/tags");
      await openSection(page, url, "models");
      await appear(page.getByText("Cannot reach Hearth"));
    },
  },
  {
    name: "models-pulling",
    reach: async (page, url) => {
      await openSection(page, url, "models");
      await mockOpenStream(page, "/api/pull", [
        { status: "pulling manifest" },
        { status: "pulling aaaaaaaaaaaa", digest: hash("a"), total: 4_700_000_000, completed: 3_100_000_000 },
        { status: "pulling bbbbbbbbbbbb", digest: hash("b"), total: 12_000, completed: 12_000 },
        { status: "pulling cccccccccccc", digest: hash("c"), total: 487, completed: 0 },
      ]);
      await page
        .getByLabel("Pull a model")
        .fill("registry.example/a-team/with-a-very-long-name-of-a-model:Q4_K_M");
      await press(page.getByRole("button", { name: "Pull", exact: true }));
      await appear(page.getByText("65% of 4.7 GB"));
    },
  },
  {
    name: "models-pull-failed",
    isRefused: true,
    reach: async (page, url) => {
      await openSection(page, url, "models");
      const body = JSON.stringify({ error: "no space left for the model", code: "store-full" });
      await page.route("**/api/pull", (route) => route.fulfill({ status: 507, body }));
      await page.getByLabel("Pull a model").fill("smollm2:135m");
      await press(page.getByRole("button", { name: "Pull", exact: true }));
      await appear(page.getByText("Free disk space"));
    },
  },
  {
    name: "models-details",
    reach: async (page, url) => {
      await openSection(page, url, "models");
      await press(page.getByRole("button", { name: "Details of tiny:latest" }));
      await press(page.getByText("Template"));
      await press(page.getByText("All metadata"));
    },
  },
  {
    name: "models-delete",
    reach: async (page, url) => {
      await openSection(page, url, "models");
      await press(page.getByRole("button", { name: "Delete tiny:latest" }));
      await appear(page.getByRole("dialog"));
    },
  },
  {
    name: "live-idle",
    reach: async (page, url) => {
      await openSection(page, url, "live");
      await appear(page.getByRole("img", { name: /^Requests per second/u }));
    },
  },
  {
    name: "live-inference-key",
    reach: async (page, url) => {
      await mockInferenceKey(page);
      await mockJson(page, "**/api/ps", {
        models: [running("llama3.1:8b", 5.6e9), running("smollm2:135m", 1e8)],
      });
      await openSection(page, url, "live");
      await appear(page.getByText("Charts and request counts require an admin key."));
      await appear(page.getByText("llama3.1:8b"));
    },
  },
  {
    name: "live-unreachable",
    isRefused: true,
    reach: async (page, url) => {
      await abortRequests(page, "**/metrics");
      await openSection(page, url, "live");
      await appear(page.getByText("Cannot reach Hearth"));
    },
  },
  {
    name: "connect",
    reach: async (page, url) => {
      await openSection(page, url, "connect");
      await appear(page.locator(".code-string").first());
    },
  },
  {
    name: "connect-agent",
    reach: async (page, url) => {
      await openSection(page, url, "connect");
      await press(page.getByRole("button", { name: "Codex" }));
      await appear(page.getByText("~/.codex/hearth.config.toml", { exact: true }));
    },
  },
  {
    name: "connect-key",
    isRefused: true,
    reach: async (page, url) => {
      await page.route("**/api/version", (route) => route.fulfill({ status: 401, body: "{}" }));
      await openSection(page, url, "connect");
      await press(page.getByRole("button", { name: "Anthropic for Python" }));
      await appear(page.getByText("Set HEARTH_API_KEY"));
      await appear(page.locator(".code-keyword").first());
    },
  },
  {
    name: "connect-cannot-send-key",
    isRefused: true,
    reach: async (page, url) => {
      await page.route("**/api/version", (route) => route.fulfill({ status: 401, body: "{}" }));
      await openSection(page, url, "connect");
      await press(page.getByRole("button", { name: "Ollama command line" }));
      await appear(page.getByText("cannot send an API key"));
      await appear(page.locator(".code-keyword").first());
    },
  },
  // Last, because its fake clock stays installed in the browser context.
  {
    name: "live-busy",
    reach: async (page, url) => {
      let tokens = 0;
      await page.route("**/metrics", (route) => {
        tokens += 60 + ((tokens * 7) % 50);
        return route.fulfill({ status: 200, body: metrics(tokens) });
      });
      await mockJson(page, "**/api/ps", {
        models: [running("llama3.1:8b", 5.6e9), running("smollm2:135m", 1e8)],
      });
      // Two minutes of samples within a second.
      await page.clock.install();
      await openSection(page, url, "live");
      await appear(page.getByRole("img", { name: /^Requests per second/u }));
      for (let second = 0; second < 40; second += 1) {
        await page.clock.runFor(3000);
      }
      await press(page.getByText("as a table"));
      await appear(page.getByText("llama3.1:8b"));
    },
  },
];
