import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react";

export type Toast = { readonly id: number; readonly text: string };

type Toasts = { readonly tell: (text: string) => void };

const Context = createContext<Toasts>({ tell: () => undefined });

const shownMilliseconds = 6000;
let nextId = 1;

/** Short news that takes nobody's focus; a screen reader hears it when it is next silent. */
export function ToastProvider({ children }: { readonly children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const drop = useCallback((id: number) => setToasts((all) => all.filter((toast) => toast.id !== id)), []);
  const tell = useCallback(
    (text: string) => {
      const id = nextId;
      nextId += 1;
      setToasts((all) => [...all.slice(-3), { id, text }]);
      setTimeout(drop, shownMilliseconds, id);
    },
    [drop],
  );
  const value = useMemo(() => ({ tell }), [tell]);
  return (
    <Context value={value}>
      {children}
      <div className="toasts" role="status" aria-live="polite">
        {toasts.map(({ id, text }) => (
          <div key={id} className="toast">
            <span>{text}</span>
            <button type="button" className="button bare" onClick={() => drop(id)}>
              Close
            </button>
          </div>
        ))}
      </div>
    </Context>
  );
}

export function useToasts(): Toasts {
  return useContext(Context);
}
