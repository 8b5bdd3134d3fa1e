import { RemainingTime } from "./revealed-value.tsx";
import type { ListValues } from "./use-list-values.ts";

/** Shows and hides the values of the listed secrets. */
export function ValuesToggle({ listValues }: { readonly listValues: ListValues }) {
  const { valueOf, isAvailable, timer, isLoading, show } = listValues;
  if (!isAvailable) return null;
  const isShown = valueOf !== undefined;
  return (
    <div className="countdown row">
      <span className="visually-hidden" role="status">
        {isShown && "Values shown"}
      </span>
      {isShown && <RemainingTime timer={timer} label="Time until the values are hidden" />}
      <button
        type="button"
        className="button small"
        aria-disabled={isLoading}
        onClick={() => {
          if (isShown) timer.hide();
          else if (!isLoading) void show();
        }}
      >
        {isLoading ? "Loading values…" : isShown ? "Hide values" : "Show values"}
      </button>
    </div>
  );
}
