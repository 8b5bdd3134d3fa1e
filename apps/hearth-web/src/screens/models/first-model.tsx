import { FlameIcon } from "../../design/icons.tsx";
import { startPull } from "../../state/pulls.ts";
import { PullForm, PullList } from "./pulls-view.tsx";

/** Small enough for every machine. */
const small = { name: "smollm2:135m", size: "270 MB" };

/** What the chat shows before there is anybody to talk to. */
export function FirstModel() {
  return (
    <div className="column stack first-model">
      <div className="greeting">
        <FlameIcon />
        <h1>Your hearth is lit</h1>
        <p className="quiet">
          The server runs, and has no model to talk to yet. One press brings a small one.
        </p>
        <FirstPull />
      </div>
      <PullList />
      <PullForm />
    </div>
  );
}

/** The same on the list of models. */
export function NoModels() {
  return (
    <div className="card greeting">
      <h2>No models yet</h2>
      <p className="quiet">Pull one by its name, or begin with a small one.</p>
      <FirstPull />
    </div>
  );
}

function FirstPull() {
  return (
    <>
      <button type="button" className="button main" onClick={() => void startPull(small.name)}>
        Pull {small.name} ({small.size})
      </button>
      <p className="quiet small">
        Or in a terminal: <code>hearth pull {small.name}</code>, or{" "}
        <code>hearth create NAME --from FILE.gguf</code>
      </p>
    </>
  );
}
