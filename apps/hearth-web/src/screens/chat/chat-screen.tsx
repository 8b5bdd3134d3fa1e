/**
 * @module
 * The chat: conversations at the side, the turns of one of them, and the box one writes in. Answers are drawn as they
 * come, can be stopped and made anew, and a question can be put in other words. Conversations stay in this browser.
 * Imported by `screens/screens.tsx`.
 */
import { Loading } from "@hearth-and-keep/page-design";
import { useState } from "react";
import { Dialog } from "../../design/dialog.tsx";
import { FailedRequest } from "../../design/failed-request.tsx";
import { ListIcon, SettingsIcon } from "../../design/icons.tsx";
import { go } from "../../router/router.tsx";
import { liveAnswers, stopAnswer } from "../../state/answering.ts";
import { beginChat, changeChat, chats, goOn, type NewQuestion } from "../../state/chats.ts";
import { type Conversation, noSettings, type Settings } from "../../state/conversation.ts";
import { changeDraft, drafts, newChat, noDraft } from "../../state/drafts.ts";
import {
  canSee,
  loadModels,
  type Model,
  models,
  rememberModel,
  talking,
  usualModel,
} from "../../state/models.ts";
import { useStore } from "../../state/store.ts";
import { FirstModel } from "../models/first-model.tsx";
import { ChatList } from "./chat-list.tsx";
import { Composer } from "./composer.tsx";
import { Greeting } from "./greeting.tsx";
import { Parameters } from "./parameters.tsx";
import { Turns } from "./turns.tsx";

export function ChatScreen({ id }: { readonly id: string | undefined }) {
  const known = useStore(models);
  const { list, isLoaded } = useStore(chats);
  const conversation = list.find((each) => each.id === id);
  if (known.state === "failed") {
    return (
      <div className="column">
        <h1 className="hidden-to-sight">Chat</h1>
        <FailedRequest problem={known.problem} onRetry={() => void loadModels()} />
      </div>
    );
  }
  if (known.state === "loading" || (id !== undefined && !isLoaded)) {
    return (
      <div className="column">
        <h1 className="hidden-to-sight">Chat</h1>
        <Loading label="Loading the models" />
      </div>
    );
  }
  if (talking(known.list).length === 0 && conversation === undefined) return <FirstModel />;
  return <Chat conversation={conversation} known={known.list} />;
}

type ChatProps = { readonly conversation: Conversation | undefined; readonly known: readonly Model[] };

function Chat({ conversation, known }: ChatProps) {
  const [front, setFront] = useState<"chats" | "parameters">();
  const { model, settings, change, send } = useTalk({ conversation, known });
  const isAnswering = useStore(liveAnswers, (all) => all.has(conversation?.id ?? ""));
  return (
    <div className="chat">
      <aside className="chat-side" aria-label="Chats">
        <ChatList current={conversation?.id} />
      </aside>
      <div className="chat-main">
        <h1 className="hidden-to-sight">{conversation?.title ?? "New chat"}</h1>
        <ChatBar
          known={known}
          model={model}
          settings={settings}
          onChoose={(name) => change({ model: name })}
          onFront={setFront}
        />
        {conversation === undefined ? (
          <Greeting model={model} known={known} onChoose={(text) => send({ text, images: [] })} />
        ) : (
          <Turns conversation={conversation} />
        )}
        <Composer
          id={conversation?.id ?? newChat}
          model={model}
          takesImages={canSee(known, model)}
          isAnswering={isAnswering}
          onSend={send}
          onStop={() => stopAnswer(conversation?.id ?? "")}
        />
      </div>
      {front === "chats" && (
        <Dialog title="Chats" shape="side" onClose={() => setFront(undefined)}>
          <ChatList current={conversation?.id} onChosen={() => setFront(undefined)} />
        </Dialog>
      )}
      {front === "parameters" && (
        <Parameters
          settings={settings}
          onChange={(next) => change({ settings: next })}
          onClose={() => setFront(undefined)}
        />
      )}
    </div>
  );
}

type Talk = {
  readonly model: string;
  readonly settings: Settings;
  readonly change: (changes: { readonly model?: string; readonly settings?: Settings }) => void;
  readonly send: (question: NewQuestion) => void;
};

/** Whom one talks to and how: the conversation has it, and before there is one the draft of it. */
function useTalk({ conversation, known }: ChatProps): Talk {
  const draft = useStore(drafts, (all) => all.get(newChat) ?? noDraft);
  const [chosen, setChosen] = useState(usualModel(known) ?? "");
  const { model, settings } = conversation ?? { model: chosen, settings: draft.settings };
  return {
    model,
    settings,
    change: (changes) => {
      if (changes.model !== undefined) rememberModel(changes.model);
      if (conversation !== undefined) return changeChat(conversation.id, changes);
      setChosen(changes.model ?? chosen);
      changeDraft(newChat, () => ({ settings: changes.settings ?? settings }));
    },
    send: (question) => {
      rememberModel(model);
      if (conversation !== undefined) return void goOn(conversation.id, question);
      changeDraft(newChat, () => ({ settings: noSettings }));
      go("chat", beginChat({ model, settings }, question));
    },
  };
}

type ChatBarProps = PickerProps & {
  readonly settings: Settings;
  readonly onFront: (what: "chats" | "parameters") => void;
};

function ChatBar({ known, model, settings, onChoose, onFront }: ChatBarProps) {
  return (
    <div className="chat-bar">
      <button
        type="button"
        className="button bare square narrow-only"
        aria-label="Chats"
        onClick={() => onFront("chats")}
      >
        <ListIcon />
      </button>
      <ModelPicker known={known} model={model} onChoose={onChoose} />
      <button type="button" className="button bare" onClick={() => onFront("parameters")}>
        <SettingsIcon />
        <span className="word">Parameters</span>
        {countSet(settings) > 0 && <span className="badge">{countSet(settings)} set</span>}
      </button>
    </div>
  );
}

function countSet({ system, options }: Settings): number {
  return Object.keys(options).length + (system.trim() === "" ? 0 : 1);
}

type PickerProps = {
  readonly known: readonly Model[];
  readonly model: string;
  readonly onChoose: (name: string) => void;
};

function ModelPicker({ known, model, onChoose }: PickerProps) {
  const usable = talking(known);
  const isGone = usable.every(({ name }) => name !== model);
  return (
    <select
      className="input picker"
      aria-label="Model"
      value={model}
      onChange={(event) => onChoose(event.currentTarget.value)}
    >
      {isGone && <option value={model}>{model} (not here any more)</option>}
      {usable.map(({ name, details }) => (
        <option key={name} value={name}>
          {[name, details.parameter_size, details.quantization_level].filter(Boolean).join("  ·  ")}
        </option>
      ))}
    </select>
  );
}
