import { FlameIcon } from "../../design/icons.tsx";
import { startPull } from "../../state/pulls.ts";
import { AdminOnly } from "../admin-only.tsx";
import { PullForm, PullList } from "./pull-list.tsx";

/** Small enough for every machine. */
const smallModel = { name: "smollm2:135m", size: "270 MB" };

/** The chat screen of a server without a chat model. */
export function FirstModel() {
  return (
    <div className="column stack first-model">
      <div className="greeting">
        <FlameIcon />
        <h1>Hearth is running</h1>
        <AdminOnly otherwise="It has no chat model yet. Pulling one requires an admin key.">
          <p className="muted">It has no chat model yet. Start with a small model.</p>
          <PullSmallModel />
        </AdminOnly>
      </div>
      <AdminOnly>
        <PullList />
        <PullForm />
      </AdminOnly>
    </div>
  );
}

/** The empty state of the Models screen. */
export function NoModels() {
  return (
    <div className="card greeting">
      <h2>No models yet</h2>
      <AdminOnly otherwise="Ask whoever runs this server to pull one.">
        <p className="muted">Pull one by name, or start with a small model.</p>
        <PullSmallModel />
      </AdminOnly>
    </div>
  );
}

function PullSmallModel() {
  return (
    <>
      <button type="button" className="button primary" onClick={() => void startPull(smallModel.name)}>
        Pull {smallModel.name} ({smallModel.size})
      </button>
      <p className="muted small">
        Or in a terminal: <code>hearth pull {smallModel.name}</code> or{" "}
        <code>hearth create NAME --from FILE.gguf</code>
      </p>
    </>
  );
}
