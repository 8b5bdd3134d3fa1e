import { DoneIcon } from "@hearth-and-keep/page-design";
import { type ReactNode, useEffect, useRef } from "react";

export type StepProps = {
  readonly number: number;
  readonly title: string;
  readonly state: "ahead" | "here" | "done";
  /** Instead of its content once it is done. */
  readonly outcome?: ReactNode;
  readonly children: ReactNode;
};

/** One of the first steps; the focus comes along to the one that is next. */
export function Step({ number, title, state, outcome, children }: StepProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const last = useRef(state);
  useEffect(() => {
    if (last.current === "ahead" && state === "here") heading.current?.focus();
    last.current = state;
  }, [state]);
  return (
    <li className={`card step ${state}`} {...(state === "here" ? { "aria-current": "step" } : {})}>
      <span className="step-number" aria-hidden="true">
        {state === "done" ? <DoneIcon /> : number}
      </span>
      <div className="stack step-content">
        <h2 ref={heading} tabIndex={-1}>
          <span className="hidden-to-sight">Step {number}: </span>
          {title}
          {state === "done" && <span className="hidden-to-sight">, done</span>}
        </h2>
        {state === "here" && children}
        {state === "done" && outcome}
      </div>
    </li>
  );
}
