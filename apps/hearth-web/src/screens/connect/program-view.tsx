import {
  anyKey,
  keyPlaceholder,
  minAgentContextTokens,
  type Program,
  renderSettings,
  type SettingsBlock,
} from "@hearth-and-keep/hearth-contract";
import type { Model } from "../../state/models.ts";
import { CodeBlock } from "../chat/markdown/code-block.tsx";
import type { SnippetContext } from "./client-snippets.ts";

type ProgramViewProps = {
  readonly program: Program;
  readonly context: SnippetContext;
  /** Undefined while there are no models. */
  readonly model: Model | undefined;
};

/** The command that does everything, and the same settings as `hearth launch --print`. */
export function ProgramView({ program, context, model }: ProgramViewProps) {
  const { baseUrl, key, needsKey } = context;
  const hasKey = needsKey || key !== "";
  const contextTokens = model?.details.context_length;
  const settings = program.configure({
    baseUrl,
    model: context.model,
    smallModel: context.model,
    contextTokens,
    hasVision: model?.capabilities.includes("vision") ?? false,
    key: hasKey ? keyPlaceholder : anyKey,
  });
  return (
    <section className="stack" aria-labelledby="client">
      <h2 id="client">{program.title}</h2>
      <CodeBlock
        code={`HEARTH_HOST=${baseUrl} hearth launch ${program.name} --model ${context.model}`}
        language="bash"
      />
      <ModelNotice model={model} contextTokens={contextTokens} />
      {hasKey && (
        <p className="muted">
          Set <code>HEARTH_API_KEY</code> before. The key is passed in the environment and never written to a
          file.
        </p>
      )}
      <h3>Without the hearth command</h3>
      <p className="muted">
        To install {program.title}: <Install text={program.install} />
      </p>
      {renderSettings(program, settings, { key }).map((block) => (
        <Block key={block.path ?? "shell"} block={block} />
      ))}
    </section>
  );
}

function Install({ text }: { readonly text: string }) {
  const [, url] = /^see (https:\S+)$/u.exec(text) ?? [];
  if (url === undefined) return <code>{text}</code>;
  return (
    <a href={url} target="_blank" rel="noreferrer noopener">
      {url}
    </a>
  );
}

type ModelNoticeProps = {
  readonly model: Model | undefined;
  readonly contextTokens: number | undefined;
};

function ModelNotice({ model, contextTokens }: ModelNoticeProps) {
  if (model !== undefined && !model.capabilities.includes("tools")) {
    return (
      <p className="small">This model cannot call tools, which agents need. Choose another one above.</p>
    );
  }
  if (contextTokens === undefined || contextTokens >= minAgentContextTokens) return null;
  return (
    <p>
      This model has a context of {contextTokens.toLocaleString("en")} tokens; agents need{" "}
      {minAgentContextTokens.toLocaleString("en")}.
    </p>
  );
}

function Block({ block: { path, language, text } }: { readonly block: SettingsBlock }) {
  return (
    <>
      <p>
        {path === undefined ? (
          "Run in a shell:"
        ) : (
          <>
            {language === "json" ? "Add to " : "Write "}
            <code>{path}</code>
          </>
        )}
      </p>
      <CodeBlock code={text.trimEnd()} language={language} />
    </>
  );
}
