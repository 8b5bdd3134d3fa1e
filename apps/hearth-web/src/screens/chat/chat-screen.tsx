/**
 * @module
 * The chat: the list of conversations, the transcript of one of them, and the message box. Responses are streamed, and
 * can be stopped and regenerated; messages can be edited and sent again. Conversations stay in this browser.
 * Imported by `screens/screens.tsx`.
 */
import { Loading } from "@hearth-and-keep/page-design";
import { useState } from "react";
import { Dialog } from "../../design/dialog.tsx";
import { ListIcon, SettingsIcon } from "../../design/icons.tsx";
import { navigate } from "../../router/router.tsx";
import { chats, continueChat, type NewPrompt, startChat, updateChat } from "../../state/chats.ts";
import { type Conversation, defaultSettings, type Settings } from "../../state/conversation.ts";
import { drafts, emptyDraft, newChatId, updateDraft } from "../../state/drafts.ts";
import { loadServerState } from "../../state/load-server-state.ts";
import {
  chatModels,
  defaultModel,
  type Model,
  models,
  saveChosenModel,
  supportsImages,
} from "../../state/models.ts";
import { useStore } from "../../state/store.ts";
import { stopResponse, streamingResponses } from "../../state/stream-response.ts";
import { RequestErrorNotice } from "../error-notice.tsx";
import { FirstModel } from "../models/first-model.tsx";
import { ChatList } from "./chat-list.tsx";
import { Composer } from "./composer.tsx";
import { Greeting } from "./greeting.tsx";
import { Parameters } from "./parameters.tsx";
import { Transcript } from "./transcript.tsx";

export function ChatScreen({ id }: { readonly id: string | undefined }) {
  const loaded = useStore(models);
  const { list, isLoaded } = useStore(chats);
  const conversation = list.find((chat) => chat.id === id);
  if (loaded.state === "failed") {
    return (
      <div className="column">
        <h1 className="visually-hidden">Chat</h1>
        <RequestErrorNotice error={loaded.error} onRetry={() => void loadServerState()} />
      </div>
    );
  }
  if (loaded.state === "loading" || (id !== undefined && !isLoaded)) {
    return (
      <div className="column">
        <h1 className="visually-hidden">Chat</h1>
        <Loading label="Loading models" />
      </div>
    );
  }
  if (chatModels(loaded.list).length === 0 && conversation === undefined) return <FirstModel />;
  return <Chat conversation={conversation} installed={loaded.list} />;
}

type ChatProps = { readonly conversation: Conversation | undefined; readonly installed: readonly Model[] };

function Chat({ conversation, installed }: ChatProps) {
  const [dialog, setDialog] = useState<"chats" | "parameters">();
  const { model, settings, change, send } = useChat({ conversation, installed });
  const isStreaming = useStore(streamingResponses, (all) => all.has(conversation?.id ?? ""));
  return (
    <div className="chat">
      <aside className="chat-side" aria-label="Chats">
        <ChatList current={conversation?.id} />
      </aside>
      <div className="chat-main">
        <h1 className="visually-hidden">{conversation?.title ?? "New chat"}</h1>
        <ChatBar
          installed={installed}
          model={model}
          settings={settings}
          onChoose={(name) => change({ model: name })}
          onOpenDialog={setDialog}
        />
        {conversation === undefined ? (
          <Greeting model={model} models={installed} onChoose={(text) => send({ text, images: [] })} />
        ) : (
          <Transcript conversation={conversation} />
        )}
        <Composer
          id={conversation?.id ?? newChatId}
          model={model}
          acceptsImages={supportsImages(installed, model)}
          isStreaming={isStreaming}
          onSend={send}
          onStop={() => stopResponse(conversation?.id ?? "")}
        />
      </div>
      {dialog === "chats" && (
        <Dialog title="Chats" shape="side" onClose={() => setDialog(undefined)}>
          <ChatList current={conversation?.id} onSelect={() => setDialog(undefined)} />
        </Dialog>
      )}
      {dialog === "parameters" && (
        <Parameters
          settings={settings}
          onChange={(next) => change({ settings: next })}
          onClose={() => setDialog(undefined)}
        />
      )}
    </div>
  );
}

type ChatControls = {
  readonly model: string;
  readonly settings: Settings;
  readonly change: (changes: { readonly model?: string; readonly settings?: Settings }) => void;
  readonly send: (prompt: NewPrompt) => void;
};

/** Model and settings belong to the conversation; before the first message, to its draft. */
function useChat({ conversation, installed }: ChatProps): ChatControls {
  const draft = useStore(drafts, (all) => all.get(newChatId) ?? emptyDraft);
  const [chosen, setChosen] = useState(defaultModel(installed) ?? "");
  const { model, settings } = conversation ?? { model: chosen, settings: draft.settings };
  return {
    model,
    settings,
    change: (changes) => {
      if (changes.model !== undefined) saveChosenModel(changes.model);
      if (conversation !== undefined) return updateChat(conversation.id, changes);
      setChosen(changes.model ?? chosen);
      updateDraft(newChatId, () => ({ settings: changes.settings ?? settings }));
    },
    send: (prompt) => {
      saveChosenModel(model);
      if (conversation !== undefined) return void continueChat(conversation.id, prompt);
      updateDraft(newChatId, () => ({ settings: defaultSettings }));
      navigate("chat", startChat({ model, settings }, prompt));
    },
  };
}

type ChatBarProps = ModelPickerProps & {
  readonly settings: Settings;
  readonly onOpenDialog: (dialog: "chats" | "parameters") => void;
};

function ChatBar({ installed, model, settings, onChoose, onOpenDialog }: ChatBarProps) {
  return (
    <div className="chat-bar">
      <button
        type="button"
        className="button ghost square narrow-only"
        aria-label="Chats"
        onClick={() => onOpenDialog("chats")}
      >
        <ListIcon />
      </button>
      <ModelPicker installed={installed} model={model} onChoose={onChoose} />
      <button type="button" className="button ghost" onClick={() => onOpenDialog("parameters")}>
        <SettingsIcon />
        <span className="button-text">Parameters</span>
        {countSet(settings) > 0 && <span className="badge">{countSet(settings)} set</span>}
      </button>
    </div>
  );
}

function countSet({ system, options }: Settings): number {
  return Object.keys(options).length + (system.trim() === "" ? 0 : 1);
}

type ModelPickerProps = {
  readonly installed: readonly Model[];
  readonly model: string;
  readonly onChoose: (name: string) => void;
};

function ModelPicker({ installed, model, onChoose }: ModelPickerProps) {
  const usable = chatModels(installed);
  const isMissing = usable.every(({ name }) => name !== model);
  return (
    <select
      className="input picker"
      aria-label="Model"
      value={model}
      onChange={(event) => onChoose(event.currentTarget.value)}
    >
      {isMissing && (
        <option value={model}>{model === "" ? "Choose a model" : `${model} (not installed)`}</option>
      )}
      {usable.map(({ name, details }) => (
        <option key={name} value={name}>
          {[name, details.parameter_size, details.quantization_level].filter(Boolean).join("  ·  ")}
        </option>
      ))}
    </select>
  );
}
