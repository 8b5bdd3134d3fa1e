/**
 * @module
 * The models of this server: what each is and can do, downloads with their progress, and the way to remove one.
 * Imported by `screens/screens.tsx`, and by the chat for whoever has no model yet.
 */
import { Loading } from "@hearth-and-keep/page-design";
import { useState } from "react";
import { Dialog } from "../../design/dialog.tsx";
import { FailedRequest } from "../../design/failed-request.tsx";
import { bytesInWords } from "../../design/format-bytes.ts";
import { ChatIcon } from "../../design/icons.tsx";
import { ScreenHead } from "../../design/screen-head.tsx";
import { go } from "../../router/router.tsx";
import { asProblem, type ServerProblem } from "../../server-api/api-client.ts";
import { loadModels, type Model, models, rememberModel, removeModel } from "../../state/models.ts";
import { useStore } from "../../state/store.ts";
import { NoModels } from "./first-model.tsx";
import { ModelDetails } from "./model-details.tsx";
import { PullForm, PullList } from "./pulls-view.tsx";

export function ModelsScreen() {
  const known = useStore(models);
  const [front, setFront] = useState<{ readonly what: "details" | "removal"; readonly model: Model }>();
  const close = (): void => setFront(undefined);
  return (
    <div className="column stack">
      <ScreenHead title="Models">
        {known.state === "there" && known.list.length > 0 && (
          // No sum of their sizes: what models share is on the disk once, and the list does not tell what that is.
          <span className="quiet">{known.list.length === 1 ? "1 model" : `${known.list.length} models`}</span>
        )}
      </ScreenHead>
      <PullForm />
      <PullList />
      {known.state === "loading" && <Loading label="Loading the models" />}
      {known.state === "failed" && (
        <FailedRequest problem={known.problem} onRetry={() => void loadModels()} />
      )}
      {known.state === "there" && known.list.length === 0 && <NoModels />}
      {known.state === "there" && known.list.length > 0 && (
        <ul className="card model-list">
          {known.list.map((model) => (
            <ModelRow
              key={model.name}
              model={model}
              onShow={() => setFront({ what: "details", model })}
              onRemove={() => setFront({ what: "removal", model })}
            />
          ))}
        </ul>
      )}
      {front?.what === "details" && <ModelDetails model={front.model} onClose={close} />}
      {front?.what === "removal" && <Removal model={front.model} onClose={close} />}
    </div>
  );
}

type RowProps = {
  readonly model: Model;
  readonly onShow: () => void;
  readonly onRemove: () => void;
};

function ModelRow({ model, onShow, onRemove }: RowProps) {
  const { name, size, details, capabilities } = model;
  const facts = [bytesInWords(size), details.parameter_size, details.quantization_level, details.family];
  return (
    <li className="model">
      <div className="model-words">
        <h2 className="breaks">{name}</h2>
        <p className="quiet small">{facts.filter(Boolean).join(" · ")}</p>
        <ul className="row" aria-label="What it can do">
          {capabilities.map((capability) => (
            <li key={capability} className="badge">
              {capability}
            </li>
          ))}
        </ul>
      </div>
      <div className="row model-deeds">
        {capabilities.includes("completion") && (
          <button
            type="button"
            className="button small"
            aria-label={`Chat with ${name}`}
            onClick={() => {
              rememberModel(name);
              go("chat");
            }}
          >
            <ChatIcon />
            Chat
          </button>
        )}
        <button type="button" className="button small" aria-label={`Show ${name}`} onClick={onShow}>
          Show
        </button>
        <button
          type="button"
          className="button small bare bad-words"
          aria-label={`Delete ${name}`}
          onClick={onRemove}
        >
          Delete
        </button>
      </div>
    </li>
  );
}

function Removal({ model, onClose }: { readonly model: Model; readonly onClose: () => void }) {
  const [problem, setProblem] = useState<ServerProblem>();
  const [isBusy, setIsBusy] = useState(false);
  const remove = async (): Promise<void> => {
    setIsBusy(true);
    try {
      await removeModel(model.name);
      onClose();
    } catch (thrown) {
      setProblem(asProblem(thrown));
      setIsBusy(false);
    }
  };
  return (
    <Dialog
      title={`Delete ${model.name}?`}
      onClose={onClose}
      action={
        <button type="button" className="button bad" disabled={isBusy} onClick={() => void remove()}>
          Delete
        </button>
      }
    >
      <p>
        It leaves the memory and the disk, {bytesInWords(model.size)} unless another model shares a part of
        it. You can pull it again.
      </p>
      {problem !== undefined && <FailedRequest problem={problem} />}
    </Dialog>
  );
}
