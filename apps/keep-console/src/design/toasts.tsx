import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react";

export type Toast = { readonly id: number; readonly text: string };

type Toasts = { readonly showToast: (text: string) => void };

const ToastContext = createContext<Toasts>({ showToast: () => undefined });

const shownMilliseconds = 6000;
let nextId = 1;

/** Short messages that do not take the focus; screen readers announce them politely. */
export function ToastProvider({ children }: { readonly children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const dismiss = useCallback((id: number) => setToasts((all) => all.filter((toast) => toast.id !== id)), []);
  const showToast = useCallback(
    (text: string) => {
      const id = nextId;
      nextId += 1;
      setToasts((all) => [...all.slice(-3), { id, text }]);
      setTimeout(dismiss, shownMilliseconds, id);
    },
    [dismiss],
  );
  const value = useMemo(() => ({ showToast }), [showToast]);
  return (
    <ToastContext value={value}>
      {children}
      <div className="toasts" role="status" aria-live="polite">
        {toasts.map(({ id, text }) => (
          <div key={id} className="toast">
            <span>{text}</span>
            <button type="button" className="button ghost" onClick={() => dismiss(id)}>
              Close
            </button>
          </div>
        ))}
      </div>
    </ToastContext>
  );
}

export function useToasts(): Toasts {
  return useContext(ToastContext);
}
