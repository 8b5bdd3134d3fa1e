/**
 * @module
 * Code snippets for common clients and the settings of agents, with this server's URL, a model and the API key filled in.
 * The page does not know the key: snippets read it from a variable, or contain what the user pastes here, which is not
 * stored.
 * Imported by `screens/screens.tsx`.
 */
import { programs } from "@hearth-and-keep/hearth-contract";
import { useEffect, useId, useState } from "react";
import { ScreenHeader } from "../../design/screen-header.tsx";
import { chatModels, defaultModel, models } from "../../state/models.ts";
import { useStore } from "../../state/store.ts";
import { CodeBlock } from "../chat/markdown/code-block.tsx";
import { type Client, clients, type SnippetContext } from "./client-snippets.ts";
import { ProgramView } from "./program-view.tsx";

const agents = programs.map(({ name, title }) => ({ id: name, name: title }));

export function ConnectScreen() {
  const [chosenId, setChosenId] = useState(agents[0]?.id);
  const client = clients.find(({ id }) => id === chosenId);
  const program = programs.find(({ name }) => name === chosenId);
  const [key, setKey] = useState("");
  const loaded = useStore(models);
  const list = loaded.state === "loaded" ? loaded.list : [];
  const [chosenModel, setChosenModel] = useState<string>();
  const model = chosenModel ?? defaultModel(list) ?? "MODEL";
  const needsKey = useNeedsKey();
  const context: SnippetContext = { baseUrl: window.location.origin, model, key, needsKey };
  return (
    <div className="column wide stack">
      <ScreenHeader title="Connect" />
      <p className="muted">
        Hearth serves the Ollama, OpenAI and Anthropic APIs. Existing clients and agents work without changes
        once you set the base URL.
      </p>
      <div className="connect-options">
        <ModelField
          names={chatModels(list).map(({ name }) => name)}
          value={model}
          onChoose={setChosenModel}
        />
        <KeyField needsKey={needsKey} value={key} onChange={setKey} />
      </div>
      <div className="connect">
        <div className="client-groups">
          <ClientGroup label="Agents" items={agents} chosenId={chosenId} onChoose={setChosenId} />
          <ClientGroup label="Clients" items={clients} chosenId={chosenId} onChoose={setChosenId} />
        </div>
        {client !== undefined && <Snippet client={client} context={context} />}
        {program !== undefined && (
          <ProgramView
            key={program.name}
            program={program}
            context={context}
            model={list.find(({ name }) => name === model)}
          />
        )}
      </div>
    </div>
  );
}

type ClientGroupProps = {
  readonly label: string;
  readonly items: readonly { readonly id: string; readonly name: string }[];
  readonly chosenId: string | undefined;
  readonly onChoose: (id: string) => void;
};

function ClientGroup({ label, items, chosenId, onChoose }: ClientGroupProps) {
  const id = useId();
  return (
    <div>
      <h2 id={id} className="small muted">
        {label}
      </h2>
      <ul className="clients" aria-labelledby={id}>
        {items.map((each) => (
          <li key={each.id}>
            <button type="button" aria-pressed={each.id === chosenId} onClick={() => onChoose(each.id)}>
              {each.name}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

type SnippetProps = { readonly client: Client; readonly context: SnippetContext };

function Snippet({ client, context }: SnippetProps) {
  const alternative = context.needsKey
    ? clients.find(({ id }) => id === client.alternativeWithKey)
    : undefined;
  const { id, install, render, language } = alternative ?? client;
  return (
    <section className="stack" aria-labelledby="client">
      <h2 id="client">{client.name}</h2>
      {alternative !== undefined && (
        <p>
          The <code>{client.id}</code> command cannot send an API key, so this server rejects it. Use{" "}
          <code>{alternative.name}</code>, which has the same commands:
        </p>
      )}
      {install !== undefined && <CodeBlock code={install} language="bash" />}
      <CodeBlock key={id} code={render(context)} language={language} />
      {context.needsKey && context.key === "" && (
        <p className="muted small">
          Set <code>HEARTH_API_KEY</code> in the environment of this code, or paste the key above.
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
        {!names.includes(value) && (
          <option value={value}>{names.length === 0 ? "No models yet" : "Choose a model"}</option>
        )}
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
    ? "This server requires an API key. A key you paste here only fills in the snippets; it is not stored."
    : "This server requires no API key. Clients that insist on one accept any text.";
  return (
    <div className="field">
      <label htmlFor={id}>API key</label>
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

/** Sends a request without the browser's credentials; status 401 means that the server requires a key. */
function useNeedsKey(): boolean {
  const [needsKey, setNeedsKey] = useState(false);
  useEffect(() => {
    const controller = new AbortController();
    fetch("/api/version", { credentials: "omit", signal: controller.signal })
      .then(({ status }) => setNeedsKey(status === 401))
      .catch(() => undefined);
    return () => controller.abort();
  }, []);
  return needsKey;
}
