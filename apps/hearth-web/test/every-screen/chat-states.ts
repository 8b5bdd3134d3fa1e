import { appear, press } from "@hearth-and-keep/test-servers";
import { askOn } from "../mock-chat-response.ts";
import { breakOff, chatAbout, keepOpen, keepWaiting, openChat, type PageState, tell } from "./scene.ts";

const rich = `Use a **dictionary** that counts, or the \`Counter\` that Python brings:

\`\`\`python
from collections import Counter

def count_words(text: str) -> Counter:
    """Words in small letters, without their punctuation."""
    words = (word.strip(".,;:!?") for word in text.lower().split())
    return Counter(word for word in words if word)  # no empty ones
\`\`\`

### What to look out for

1. Capital letters: *The* and *the* are one word.
2. Punctuation at the end of a word.
3. Words with a hyphen.

| Way | Lines | Speed |
|---|---|---|
| dictionary | 6 | good |
| \`Counter\` | 2 | better |

- [x] tested on a novel &amp; a poem
- [ ] ~~tested on a dictionary~~ not needed

> For large files, read line by line.

More is in the [documentation](https://docs.python.org/3/library/collections.html).`;

const thoughts =
  "The person wants to count words. A Counter is the shortest way. I should mention punctuation.";

export const chatStates: readonly PageState[] = [
  { name: "chat-new", reach: openChat },
  {
    name: "chat-loading",
    reach: async (page, url) => {
      await keepWaiting(page, "**/api/tags");
      await page.goto(`${url}/ui`);
      await appear(page.getByRole("status", { name: "Loading the models" }));
    },
  },
  {
    name: "chat-unreachable",
    isRefused: true,
    reach: async (page, url) => {
      await breakOff(page, "**/api/tags");
      await page.goto(`${url}/ui`);
      await appear(page.getByText("Hearth cannot be reached"));
    },
  },
  {
    name: "first-visit",
    reach: async (page, url) => {
      await tell(page, "**/api/tags", { models: [] });
      await page.goto(`${url}/ui`);
      await appear(page.getByText("Your hearth is lit"));
    },
  },
  {
    name: "chat-waiting",
    reach: async (page, url) => {
      await keepWaiting(page, "**/api/chat");
      await openChat(page, url);
      await askOn(page, "Are you there?");
      await appear(page.getByText("Reading your question"));
    },
  },
  {
    name: "chat-growing",
    reach: async (page, url) => {
      await openChat(page, url);
      await keepOpen(page, "/api/chat", [{ message: { content: rich.slice(0, 420) }, done: false }]);
      await askOn(page, "How do I count words?");
      await appear(page.getByText("Use a"));
    },
  },
  { name: "chat-answer", reach: (page, url) => chatAbout(page, url, { text: rich }) },
  {
    name: "chat-thinking",
    reach: async (page, url) => {
      await chatAbout(page, url, { text: "With a `Counter`.", thinking: thoughts });
      await press(page.getByText("Thought for"));
    },
  },
  {
    name: "chat-broken-off",
    reach: (page, url) => chatAbout(page, url, { text: "Use a dictionary that", isCut: true }),
  },
  {
    name: "chat-refused",
    isRefused: true,
    reach: (page, url) => {
      const error = "model requires more system memory (5.6 GiB) than is available";
      return chatAbout(page, url, { refusal: { status: 500, error } });
    },
  },
  {
    name: "chat-unanswered",
    reach: async (page, url) => {
      await keepWaiting(page, "**/api/chat");
      await openChat(page, url);
      await askOn(page, "Are you there?");
      await appear(page.getByText("Reading your question"));
      await page.reload();
      await appear(page.getByText("This question has no answer"));
    },
  },
  {
    name: "chat-edit",
    reach: async (page, url) => {
      await chatAbout(page, url, { text: "With a `Counter`." });
      await press(page.getByRole("button", { name: "Edit this question" }));
      await appear(page.getByText("What followed is replaced."));
    },
  },
  {
    name: "chat-sees",
    reach: async (page, url) => {
      const details = { family: "tiny", parameter_size: "3M", quantization_level: "F16" };
      const name = "sees:latest";
      const capabilities = ["completion", "vision"];
      const model = { name, size: 5e6, digest: "0".repeat(64), modified_at: "2026-01-01T00:00:00Z" };
      await tell(page, "**/api/tags", { models: [{ ...model, details, capabilities }] });
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
      await appear(page.getByText("A number from 0 to 1"));
    },
  },
  {
    name: "chat-clear-all",
    reach: async (page, url) => {
      await chatAbout(page, url, { text: "With a `Counter`." });
      await press(page.getByRole("button", { name: "Clear all" }));
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
