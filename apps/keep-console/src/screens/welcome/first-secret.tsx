import { Failed } from "@hearth-and-keep/page-design";
import type { SecretMetadata, SecretPage } from "@hearth-and-keep/vault-contract";
import { type FormEvent, useState } from "react";
import { TextArea, TextField } from "../../design/field.tsx";
import { useDoing } from "../../vault-api/use-mutation.ts";
import { useAnswer } from "../../vault-api/use-query.ts";
import { vaultPath } from "../secrets/api-paths.ts";
import { emptyDraft, mistakeIn } from "../secrets/draft.ts";
import { createSecret, isChangedMeanwhile } from "../secrets/save-secret.ts";
import { joinPath } from "../secrets/secrets-location.ts";
import { useSight } from "../secrets/use-reveal-timer.ts";

export type FirstSecretProps = {
  readonly vaultId: string;
  readonly onMade: (secret: SecretMetadata) => void;
};

export function FirstSecret({ vaultId, onMade }: FirstSecretProps) {
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const [mistakes, setMistakes] = useState<{ readonly name?: string; readonly value?: string }>({});
  const { isBusy, problem, run } = useDoing();
  const draft = { ...emptyDraft, text: value };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const found = mistakesOf(name, value, mistakeIn(draft, false));
    setMistakes(found);
    if (Object.keys(found).length > 0) return;
    void run(async () => onMade(await createSecret(vaultId, joinPath("/", name.trim()), draft)));
  };
  return (
    <form className="stack" noValidate onSubmit={submit}>
      <TextField
        label="Name"
        hint="As your program calls it, such as DATABASE_PASSWORD"
        autoComplete="off"
        spellCheck={false}
        maxLength={255}
        value={name}
        mistake={mistakes.name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Value value={value} mistake={mistakes.value} onChange={setValue} />
      {problem !== undefined && (
        <Failed
          text={
            isChangedMeanwhile(problem)
              ? `There is a secret called ${name.trim()} already. Choose another name, or use that one.`
              : problem.message
          }
        />
      )}
      <div className="row">
        <button type="submit" className="button main" disabled={isBusy}>
          {isBusy ? "Saving…" : "Save secret"}
        </button>
        <UseThatOne vaultId={vaultId} onChosen={onMade} />
      </div>
    </form>
  );
}

function mistakesOf(name: string, value: string, inDraft: string | undefined) {
  const forValue = value === "" ? "Type or paste a value; anything will do for a try" : inDraft;
  return {
    ...(name.trim() === "" ? { name: "Give it a name" } : {}),
    ...(forValue === undefined ? {} : { value: forValue }),
  };
}

type ValueProps = {
  readonly value: string;
  readonly mistake: string | undefined;
  readonly onChange: (value: string) => void;
};

/** Leaves the page when nobody has written for a while; what was written stays. */
function Value({ value, mistake, onChange }: ValueProps) {
  const sight = useSight(true);
  if (value !== "" && sight.secondsLeft === undefined) {
    return (
      <div className="field">
        <span className="label">Value</span>
        <div className="row">
          <span className="quiet">Hidden while you were away. Nothing is lost.</span>
          <button type="button" className="button" onClick={sight.show}>
            Go on editing
          </button>
        </div>
      </div>
    );
  }
  return (
    <TextArea
      label="Value"
      hint="It is encrypted before it is stored"
      rows={2}
      autoCapitalize="off"
      value={value}
      mistake={mistake}
      onChange={(event) => {
        sight.show();
        onChange(event.currentTarget.value);
      }}
    />
  );
}

type UseThatOneProps = {
  readonly vaultId: string;
  readonly onChosen: (secret: SecretMetadata) => void;
};

function UseThatOne({ vaultId, onChosen }: UseThatOneProps) {
  const page = useAnswer<SecretPage>(`${vaultPath(vaultId)}/secrets?path=%2F&recursive=true&limit=1`);
  const [secret] = page.state === "there" ? page.body.items : [];
  if (secret === undefined) return null;
  return (
    <button type="button" className="button first-choice" onClick={() => onChosen(secret)}>
      <span className="one-line">Use {secret.path}, which is there already</span>
    </button>
  );
}
