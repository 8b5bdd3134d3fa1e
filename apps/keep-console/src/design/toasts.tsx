import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from "react";
import { useShortcuts } from "./use-shortcuts.ts";

export type ToastAction = {
  readonly label: string;
  readonly onSelect: () => void;
  /** Also runs on Ctrl+Z. */
  readonly isUndo?: boolean;
};

type Toast = { readonly id: number; readonly text: string; readonly action: ToastAction | undefined };

type Toasts = { readonly showToast: (text: string, action?: ToastAction) => void };

const ToastContext = createContext<Toasts>({ showToast: () => undefined });

const shownMilliseconds = 6000;
/** Long enough to reach the action by keyboard. */
const actionMilliseconds = 12_000;
let nextId = 1;

/**
 * Short messages that do not take the focus; screen readers announce them politely. They stay while the pointer or the
 * focus is on one of them.
 */
export function ToastProvider({ children }: { readonly children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const [isHovered, setIsHovered] = useState(false);
  const [isFocused, setIsFocused] = useState(false);
  const dismiss = useCallback((id: number) => {
    setToasts((all) => all.filter((toast) => toast.id !== id));
    // A button that is removed with its focus or under the pointer sends no event.
    setIsFocused(false);
  }, []);
  const isEmpty = toasts.length === 0;
  useEffect(() => {
    if (isEmpty) setIsHovered(false);
  }, [isEmpty]);
  const showToast = useCallback((text: string, action?: ToastAction) => {
    const id = nextId;
    nextId += 1;
    setToasts((all) => [...all.slice(-3), { id, text, action }]);
  }, []);
  const value = useMemo(() => ({ showToast }), [showToast]);
  const undoable = toasts.findLast(({ action }) => action?.isUndo === true);
  const shortcuts = useMemo(
    () => (undoable === undefined ? {} : { "mod+z": () => runAction(undoable, dismiss) }),
    [undoable, dismiss],
  );
  useShortcuts(shortcuts);
  return (
    <ToastContext value={value}>
      {children}
      <div
        className="toasts"
        role="status"
        aria-live="polite"
        onMouseEnter={() => setIsHovered(true)}
        onMouseLeave={() => setIsHovered(false)}
        onFocus={() => setIsFocused(true)}
        onBlur={() => setIsFocused(false)}
      >
        {toasts.map((toast) => (
          <ToastMessage key={toast.id} toast={toast} isPaused={isHovered || isFocused} onDismiss={dismiss} />
        ))}
      </div>
    </ToastContext>
  );
}

type ToastMessageProps = {
  readonly toast: Toast;
  readonly isPaused: boolean;
  readonly onDismiss: (id: number) => void;
};

function ToastMessage({ toast, isPaused, onDismiss }: ToastMessageProps) {
  const { id, text, action } = toast;
  const milliseconds = action === undefined ? shownMilliseconds : actionMilliseconds;
  useEffect(() => {
    if (isPaused) return undefined;
    const timer = setTimeout(onDismiss, milliseconds, id);
    return () => clearTimeout(timer);
  }, [isPaused, onDismiss, milliseconds, id]);
  return (
    <div className="toast">
      <span>{text}</span>
      <div className="toast-actions">
        {action !== undefined && (
          <button
            type="button"
            className="button"
            {...(action.isUndo === true ? { "aria-keyshortcuts": "Control+Z Meta+Z" } : {})}
            onClick={() => runAction(toast, onDismiss)}
          >
            {action.label}
          </button>
        )}
        <button type="button" className="button ghost" onClick={() => onDismiss(id)}>
          Close
        </button>
      </div>
    </div>
  );
}

function runAction({ id, action }: Toast, dismiss: (id: number) => void): void {
  dismiss(id);
  action?.onSelect();
}

export function useToasts(): Toasts {
  return useContext(ToastContext);
}
