import { appear, press } from "@hearth-and-keep/test-servers";
import { sendPrompt } from "../mock-chat-response.ts";
import {
  abortRequests,
  mockInferenceKey,
  mockJson,
  mockOpenStream,
  openAnsweredChat,
  openChat,
  type PageState,
  stallRequests,
} from "./screen-state.ts";

const markdownResponse = `Use a **dictionary**, or the \`Counter\` of the standard library:

\`\`\`python
from collections import Counter

def count_words(text: str) -> Counter:
    """Count words in lower case, without punctuation."""
    words = (word.strip(".,;:!?") for word in text.lower().split())
    return Counter(word for word in words if word)  # skip empty strings
\`\`\`

### Watch out for

1. Capitalization: *The* and *the* are one word.
2. Punctuation at the end of a word.
3. Hyphenated words.

| Approach | Lines | Speed |
|---|---|---|
| dictionary | 6 | good |
| \`Counter\` | 2 | better |

- [x] tested on a novel &amp; a poem
- [ ] ~~tested on a dictionary~~ not needed

> For large files, read line by line.

See the [documentation](https://docs.python.org/3/library/collections.html).`;

const thoughts =
  "The user wants to count words. A Counter is the shortest solution. I should mention punctuation.";

const missingModel = {
  status: 404,
  body: {
    error: 'model "gone:1b" not found, try pulling it first',
    code: "model-not-found",
    model: "gone:1b",
  },
} as const;

export const chatStates: readonly PageState[] = [
  { name: "chat-new", reach: openChat },
  {
    // A model of somebody else's engine is not preselected.
    name: "chat-choose-model",
    reach: async (page, url) => {
      const model = { name: "far:latest", size: 0, digest: "d", modified_at: "2026-01-01T00:00:00Z" };
      const remote = {
        ...model,
        capabilities: ["completion"],
        details: { format: "remote" },
        runs_on: "remote",
      };
      await mockJson(page, "**/api/tags", { models: [remote] });
      await page.goto(`${url}/ui`);
      await appear(page.getByRole("heading", { name: "Choose a model" }));
    },
  },
  {
    name: "chat-loading",
    reach: async (page, url) => {
      await stallRequests(page, "**/api/tags");
      await page.goto(`${url}/ui`);
      await appear(page.getByRole("status", { name: "Loading models" }));
    },
  },
  {
    name: "chat-unreachable",
    isRefused: true,
    reach: async (page, url) => {
      await abortRequests(page, "**/api/tags");
      await page.goto(`${url}/ui`);
      await appear(page.getByText("Cannot reach Hearth"));
    },
  },
  {
    name: "first-visit",
    reach: async (page, url) => {
      await mockJson(page, "**/api/tags", { models: [] });
      await page.goto(`${url}/ui`);
      await appear(page.getByText("Hearth is running"));
    },
  },
  {
    name: "first-visit-inference-key",
    reach: async (page, url) => {
      await mockInferenceKey(page);
      await mockJson(page, "**/api/tags", { models: [] });
      await page.goto(`${url}/ui`);
      await appear(page.getByText("It has no chat model yet. Pulling one requires an admin key."));
    },
  },
  {
    name: "chat-waiting",
    reach: async (page, url) => {
      await stallRequests(page, "**/api/chat");
      await openChat(page, url);
      await sendPrompt(page, "Are you there?");
      await appear(page.getByText("Waiting for the first token"));
    },
  },
  {
    name: "chat-streaming",
    reach: async (page, url) => {
      await openChat(page, url);
      await mockOpenStream(page, "/api/chat", [
        { message: { content: markdownResponse.slice(0, 420) }, done: false },
      ]);
      await sendPrompt(page, "How do I count words?");
      await appear(page.getByText("Use a"));
    },
  },
  { name: "chat-answer", reach: (page, url) => openAnsweredChat(page, url, { text: markdownResponse }) },
  {
    name: "chat-thinking",
    reach: async (page, url) => {
      await openAnsweredChat(page, url, { text: "With a `Counter`.", thinking: thoughts });
      await press(page.getByText("Thought for"));
    },
  },
  {
    name: "chat-cut-off",
    reach: (page, url) => openAnsweredChat(page, url, { text: "Use a dictionary that", isCut: true }),
  },
  {
    name: "chat-error",
    isRefused: true,
    reach: (page, url) => {
      const error = "model requires more system memory (5.6 GiB) than is available";
      const body = { error, code: "insufficient-memory", needed_bytes: 6e9 } as const;
      return openAnsweredChat(page, url, { error: { status: 500, body } });
    },
  },
  {
    name: "chat-missing-model",
    isRefused: true,
    reach: async (page, url) => {
      await openAnsweredChat(page, url, { error: missingModel });
      await appear(page.getByRole("button", { name: "Pull gone:1b" }));
    },
  },
  {
    name: "chat-missing-model-inference-key",
    isRefused: true,
    reach: async (page, url) => {
      await mockInferenceKey(page);
      await openAnsweredChat(page, url, { error: missingModel });
      await appear(page.getByText("Pulling this one requires an admin key."));
    },
  },
  {
    name: "chat-no-response",
    reach: async (page, url) => {
      await stallRequests(page, "**/api/chat");
      await openChat(page, url);
      await sendPrompt(page, "Are you there?");
      await appear(page.getByText("Waiting for the first token"));
      await page.reload();
      await appear(page.getByText("No response yet."));
    },
  },
  {
    name: "chat-edit",
    reach: async (page, url) => {
      await openAnsweredChat(page, url, { text: "With a `Counter`." });
      await press(page.getByRole("button", { name: "Edit message" }));
      await appear(page.getByText("Later messages will be replaced."));
    },
  },
  {
    name: "chat-image",
    reach: async (page, url) => {
      const details = { family: "tiny", parameter_size: "3M", quantization_level: "F16" };
      const name = "vision:latest";
      const capabilities = ["completion", "vision"];
      const model = { name, size: 5e6, digest: "0".repeat(64), modified_at: "2026-01-01T00:00:00Z" };
      await mockJson(page, "**/api/tags", { models: [{ ...model, details, capabilities }] });
      await openChat(page, url);
      const buffer = Buffer.from(pixel, "base64");
      await page
        .getByLabel("Attach images")
        .setInputFiles({ name: "one.png", mimeType: "image/png", buffer });
      await appear(page.getByAltText("Attachment 1"));
    },
  },
  {
    name: "chat-parameters",
    reach: async (page, url) => {
      await openChat(page, url);
      await press(page.getByRole("button", { name: /^Parameters/u }));
      await page.getByLabel("System prompt").fill("You are a patient teacher. Answer briefly.");
      await page.getByLabel("Temperature").fill("0.3");
      await page.getByLabel("Top p").fill("7");
      await appear(page.getByText("Enter a number from 0 to 1"));
    },
  },
  {
    name: "chat-delete-all",
    reach: async (page, url) => {
      await openAnsweredChat(page, url, { text: "With a `Counter`." });
      await press(page.getByRole("button", { name: "Delete all chats" }));
      await appear(page.getByRole("dialog"));
    },
  },
  {
    name: "shortcuts",
    reach: async (page, url) => {
      await openChat(page, url);
      await page.keyboard.press("?");
      await appear(page.getByRole("dialog", { name: "Keyboard shortcuts" }));
    },
  },
];

const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
