import { FlameIcon } from "../../design/icons.tsx";
import { isRemote, type Model } from "../../state/models.ts";

const starters = [
  "Explain how a hearth keeps a room warm",
  "Write a short poem about the first frost",
  "Give me a Python function that finds duplicates in a list",
  "Plan a quiet weekend without screens",
];

export type GreetingProps = {
  readonly model: string;
  readonly models: readonly Model[];
  readonly onChoose: (text: string) => void;
};

/** An empty chat: the model, and prompts to start with. */
export function Greeting({ model, models, onChoose }: GreetingProps) {
  if (model === "") return <ChooseModel />;
  return (
    <div className="greeting">
      <FlameIcon />
      <h2>What's on your mind?</h2>
      <p className="muted">
        <strong className="break-words">{model}</strong>{" "}
        {models.some((each) => each.name === model && isRemote(each))
          ? "runs on a remote engine. Your messages are sent there."
          : "runs on this server. Your messages are not sent anywhere else."}
      </p>
      <ul>
        {starters.map((text) => (
          <li key={text}>
            <button type="button" className="starter" onClick={() => onChoose(text)}>
              {text}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Shown if every model is on somebody else's engine: none of them is preselected. */
function ChooseModel() {
  return (
    <div className="greeting">
      <FlameIcon />
      <h2>Choose a model</h2>
      <p className="muted">Every model here runs on a remote engine. Your messages are sent there.</p>
    </div>
  );
}
