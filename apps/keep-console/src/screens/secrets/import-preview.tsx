import { Notice } from "@hearth-and-keep/page-design";
import type { ImportReport } from "@hearth-and-keep/vault-contract";

const maxShownPaths = 200;

/** Lists the affected paths, never values. */
export function ImportPreview({ report }: { readonly report: ImportReport }) {
  const groups = [
    { title: "New", paths: report.created, kind: "success" },
    { title: "Updated", paths: report.changed, kind: "warning" },
    { title: "Unchanged", paths: report.unchanged, kind: "" },
    { title: "Skipped", paths: report.skipped, kind: "" },
  ];
  return (
    <div className="stack tight preview" role="region" aria-label="Changes" tabIndex={-1}>
      {report.created.length + report.changed.length === 0 && (
        <Notice>Nothing to import: all values are already up to date.</Notice>
      )}
      {report.repeated.length > 0 && (
        <Notice kind="warning">
          Defined more than once; the last definition is used:{" "}
          {report.repeated.slice(0, maxShownPaths).join(", ")}
        </Notice>
      )}
      {groups
        .filter(({ paths }) => paths.length > 0)
        .map(({ title, paths, kind }) => (
          <section key={title} className="stack tight">
            <h3 className="row">
              <span className={`badge ${kind}`}>{title}</span>
              <span className="muted small">{paths.length}</span>
            </h3>
            <ul className="mono small">
              {paths.slice(0, maxShownPaths).map((path) => (
                <li key={path} className="break-words">
                  {path}
                </li>
              ))}
              {paths.length > maxShownPaths && (
                <li className="muted">and {paths.length - maxShownPaths} more</li>
              )}
            </ul>
          </section>
        ))}
    </div>
  );
}
