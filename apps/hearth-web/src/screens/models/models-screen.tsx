/**
 * @module
 * The models of this server: their size and capabilities, pulls with their progress, details, and deletion.
 * Imported by `screens/screens.tsx`, and by the chat for its empty state.
 */
import { Loading } from "@hearth-and-keep/page-design";
import { useState } from "react";
import { Dialog } from "../../design/dialog.tsx";
import { formatBytes } from "../../design/format-bytes.ts";
import { ChatIcon } from "../../design/icons.tsx";
import { ScreenHeader } from "../../design/screen-header.tsx";
import { navigate } from "../../router/router.tsx";
import { type RequestError, toRequestError } from "../../server-api/api-client.ts";
import { loadServerState } from "../../state/load-server-state.ts";
import { deleteModel, isRemote, type Model, models, saveChosenModel } from "../../state/models.ts";
import { useStore } from "../../state/store.ts";
import { AdminOnly } from "../admin-only.tsx";
import { RequestErrorNotice } from "../error-notice.tsx";
import { NoModels } from "./first-model.tsx";
import { ModelDetails } from "./model-details.tsx";
import { PullForm, PullList } from "./pull-list.tsx";

export function ModelsScreen() {
  const loaded = useStore(models);
  const [dialog, setDialog] = useState<{ readonly kind: "details" | "delete"; readonly model: Model }>();
  const close = (): void => setDialog(undefined);
  return (
    <div className="column stack">
      <ScreenHeader title="Models">
        {loaded.state === "loaded" && loaded.list.length > 0 && (
          // Without a total size: models share layers, and the API does not say which.
          <span className="muted">
            {loaded.list.length === 1 ? "1 model" : `${loaded.list.length} models`}
          </span>
        )}
      </ScreenHeader>
      <AdminOnly otherwise="Pulling and deleting models requires an admin key.">
        <PullForm />
        <PullList />
      </AdminOnly>
      {loaded.state === "loading" && <Loading label="Loading models" />}
      {loaded.state === "failed" && (
        <RequestErrorNotice error={loaded.error} onRetry={() => void loadServerState()} />
      )}
      {loaded.state === "loaded" && loaded.list.length === 0 && <NoModels />}
      {loaded.state === "loaded" && loaded.list.length > 0 && (
        <ul className="card model-list">
          {loaded.list.map((model) => (
            <ModelRow
              key={model.name}
              model={model}
              onShowDetails={() => setDialog({ kind: "details", model })}
              onDelete={() => setDialog({ kind: "delete", model })}
            />
          ))}
        </ul>
      )}
      {dialog?.kind === "details" && <ModelDetails model={dialog.model} onClose={close} />}
      {dialog?.kind === "delete" && <DeleteDialog model={dialog.model} onClose={close} />}
    </div>
  );
}

type ModelRowProps = {
  readonly model: Model;
  readonly onShowDetails: () => void;
  readonly onDelete: () => void;
};

function ModelRow({ model, onShowDetails, onDelete }: ModelRowProps) {
  const { name, size, details, capabilities } = model;
  const location = isRemote(model) ? "remote engine" : formatBytes(size);
  const summary = [location, details.parameter_size, details.quantization_level, details.family];
  return (
    <li className="model">
      <div className="model-summary">
        <h2 className="break-words">{name}</h2>
        <p className="muted small">{summary.filter(Boolean).join(" · ")}</p>
        <ul className="row" aria-label="Capabilities">
          {capabilities.map((capability) => (
            <li key={capability} className="badge">
              {capability}
            </li>
          ))}
        </ul>
      </div>
      <div className="row">
        {capabilities.includes("completion") && (
          <button
            type="button"
            className="button small"
            aria-label={`Chat with ${name}`}
            onClick={() => {
              saveChosenModel(name);
              navigate("chat");
            }}
          >
            <ChatIcon />
            Chat
          </button>
        )}
        <button
          type="button"
          className="button small"
          aria-label={`Details of ${name}`}
          onClick={onShowDetails}
        >
          Details
        </button>
        {/* A model on a remote engine is not stored here. */}
        {!isRemote(model) && (
          <AdminOnly>
            <button
              type="button"
              className="button small ghost danger-text"
              aria-label={`Delete ${name}`}
              onClick={onDelete}
            >
              Delete
            </button>
          </AdminOnly>
        )}
      </div>
    </li>
  );
}

function DeleteDialog({ model, onClose }: { readonly model: Model; readonly onClose: () => void }) {
  const [error, setError] = useState<RequestError>();
  const [isDeleting, setIsDeleting] = useState(false);
  const confirm = async (): Promise<void> => {
    setIsDeleting(true);
    try {
      await deleteModel(model.name);
      onClose();
    } catch (thrown) {
      setError(toRequestError(thrown));
      setIsDeleting(false);
    }
  };
  return (
    <Dialog
      title={`Delete ${model.name}?`}
      onClose={onClose}
      action={
        <button type="button" className="button danger" disabled={isDeleting} onClick={() => void confirm()}>
          Delete
        </button>
      }
    >
      <p>
        This unloads the model and deletes it from the server's disk, which frees up to{" "}
        {formatBytes(model.size)}. Layers shared with other models are kept. You cannot undo this.
      </p>
      {error !== undefined && <RequestErrorNotice error={error} />}
    </Dialog>
  );
}
