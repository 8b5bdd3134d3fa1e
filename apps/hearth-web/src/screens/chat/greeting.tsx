import { FlameIcon } from "../../design/icons.tsx";
import { isElsewhere, type Model } from "../../state/models.ts";

const openers = [
  "Explain how a hearth keeps a room warm",
  "Write a short poem about the first frost",
  "Give me a Python function that finds duplicates in a list",
  "Plan a quiet weekend without a screen",
];

export type GreetingProps = {
  readonly model: string;
  readonly known: readonly Model[];
  readonly onChoose: (text: string) => void;
};

/** Before the first question: whom one talks to, and ways to begin. */
export function Greeting({ model, known, onChoose }: GreetingProps) {
  return (
    <div className="greeting">
      <FlameIcon />
      <h2>What is on your mind?</h2>
      <p className="quiet">
        <strong className="breaks">{model}</strong>{" "}
        {isElsewhere(known, model)
          ? "runs on another machine. What you write is sent there."
          : "runs on this server. What you write is sent nowhere else."}
      </p>
      <ul>
        {openers.map((text) => (
          <li key={text}>
            <button type="button" className="opener" onClick={() => onChoose(text)}>
              {text}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
