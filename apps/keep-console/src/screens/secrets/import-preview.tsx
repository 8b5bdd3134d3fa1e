import { Notice } from "@hearth-and-keep/page-design";
import type { ImportReport } from "@hearth-and-keep/vault-contract";

const mostShown = 200;

/** What an import would do: paths alone, no value. */
export function ImportPreview({ report }: { readonly report: ImportReport }) {
  const groups = [
    { title: "New", paths: report.created, kind: "good" },
    { title: "New version", paths: report.changed, kind: "warn" },
    { title: "Same as now", paths: report.unchanged, kind: "" },
    { title: "Left as they are", paths: report.skipped, kind: "" },
  ];
  return (
    <div className="stack tight preview" role="region" aria-label="What changes" tabIndex={-1}>
      {report.created.length + report.changed.length === 0 && (
        <Notice>Nothing would change: everything is there already.</Notice>
      )}
      {report.repeated.length > 0 && (
        <Notice kind="warn">
          In the file more than once, the last one counts: {report.repeated.slice(0, mostShown).join(", ")}
        </Notice>
      )}
      {groups
        .filter(({ paths }) => paths.length > 0)
        .map(({ title, paths, kind }) => (
          <section key={title} className="stack tight">
            <h3 className="row">
              <span className={`badge ${kind}`}>{title}</span>
              <span className="quiet small">{paths.length}</span>
            </h3>
            <ul className="fixed small">
              {paths.slice(0, mostShown).map((path) => (
                <li key={path} className="breaks">
                  {path}
                </li>
              ))}
              {paths.length > mostShown && <li className="quiet">and {paths.length - mostShown} more</li>}
            </ul>
          </section>
        ))}
    </div>
  );
}
