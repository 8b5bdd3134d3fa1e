/**
 * @module
 * Ready lines for the clients and tools that people use, with this server's address, a model and the key in them. The
 * page never knows the key: a variable stands for it, or what somebody pastes here, which is kept nowhere.
 * Imported by `screens/screens.tsx`.
 */
import { useEffect, useId, useState } from "react";
import { ScreenHead } from "../../design/screen-head.tsx";
import { models, talking, usualModel } from "../../state/models.ts";
import { useStore } from "../../state/store.ts";
import { CodeBlock } from "../chat/markdown/code-block.tsx";
import { type Client, clients, type Facts } from "./clients.ts";

export function ConnectScreen() {
  const [chosen, setChosen] = useState<Client | undefined>(clients[0]);
  const [key, setKey] = useState("");
  const known = useStore(models);
  const list = known.state === "there" ? known.list : [];
  const [picked, setPicked] = useState<string>();
  const model = picked ?? usualModel(list) ?? "MODEL";
  const needsKey = useNeedsKey();
  const facts: Facts = { base: window.location.origin, model, key, needsKey };
  return (
    <div className="column wide stack">
      <ScreenHead title="Connect" />
      <p className="quiet">
        Three protocols at one address: Ollama's, OpenAI's and Anthropic's. Clients of all three work as they
        are, once they know where to call.
      </p>
      <div className="connect-facts">
        <ModelField names={talking(list).map(({ name }) => name)} value={model} onChoose={setPicked} />
        <KeyField needsKey={needsKey} value={key} onChange={setKey} />
      </div>
      <div className="connect">
        <ul className="clients" aria-label="Clients">
          {clients.map((client) => (
            <li key={client.id}>
              <button type="button" aria-pressed={client === chosen} onClick={() => setChosen(client)}>
                {client.name}
              </button>
            </li>
          ))}
        </ul>
        {chosen !== undefined && <Lines client={chosen} facts={facts} />}
      </div>
    </div>
  );
}

function Lines({ client, facts }: { readonly client: Client; readonly facts: Facts }) {
  const instead = facts.needsKey ? clients.find(({ id }) => id === client.insteadWithKey) : undefined;
  const { id, install, write, language } = instead ?? client;
  return (
    <section className="stack" aria-labelledby="client">
      <h2 id="client">{client.name}</h2>
      {instead !== undefined && (
        <p>
          The <code>{client.id}</code> command cannot send a key, so this server turns it away. Use{" "}
          <code>{instead.name}</code>, which takes the same commands:
        </p>
      )}
      {install !== undefined && <CodeBlock code={install} language="bash" isOpen={false} />}
      <CodeBlock key={id} code={write(facts)} language={language} isOpen={false} />
      {facts.needsKey && facts.key === "" && (
        <p className="quiet small">
          Set <code>HEARTH_API_KEY</code> to the server's key where this runs, or paste the key above.
        </p>
      )}
    </section>
  );
}

type ModelFieldProps = {
  readonly names: readonly string[];
  readonly value: string;
  readonly onChoose: (name: string) => void;
};

function ModelField({ names, value, onChoose }: ModelFieldProps) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>Model</label>
      <select
        id={id}
        className="input"
        value={value}
        onChange={(event) => onChoose(event.currentTarget.value)}
      >
        {names.length === 0 && <option value={value}>No model yet</option>}
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}

type KeyFieldProps = {
  readonly needsKey: boolean;
  readonly value: string;
  readonly onChange: (key: string) => void;
};

function KeyField({ needsKey, value, onChange }: KeyFieldProps) {
  const id = useId();
  const hint = needsKey
    ? "This server asks for a key. What you paste is put into the lines below and kept nowhere."
    : "This server asks for no key; clients that insist on one take any text.";
  return (
    <div className="field">
      <label htmlFor={id}>Key</label>
      <input
        id={id}
        className="input"
        type="password"
        autoComplete="off"
        maxLength={1024}
        disabled={!needsKey}
        placeholder={needsKey ? "$HEARTH_API_KEY" : "none"}
        aria-describedby={`${id}-hint`}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value.trim())}
      />
      <span className="hint" id={`${id}-hint`}>
        {hint}
      </span>
    </div>
  );
}

/** Asked without what the browser knows: a refusal means that there is a key. */
function useNeedsKey(): boolean {
  const [needsKey, setNeedsKey] = useState(false);
  useEffect(() => {
    const end = new AbortController();
    fetch("/api/version", { credentials: "omit", signal: end.signal })
      .then(({ status }) => setNeedsKey(status === 401))
      .catch(() => undefined);
    return () => end.abort();
  }, []);
  return needsKey;
}
