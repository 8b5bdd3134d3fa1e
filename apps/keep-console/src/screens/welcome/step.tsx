import { DoneIcon } from "@hearth-and-keep/page-design";
import { type ReactNode, useEffect, useRef } from "react";

export type StepProps = {
  readonly number: number;
  readonly title: string;
  readonly state: "upcoming" | "current" | "done";
  /** Replaces the content when the step is done. */
  readonly outcome?: ReactNode;
  readonly children: ReactNode;
};

/** The heading takes the focus when the step becomes current. */
export function Step({ number, title, state, outcome, children }: StepProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const previous = useRef(state);
  useEffect(() => {
    if (previous.current === "upcoming" && state === "current") heading.current?.focus();
    previous.current = state;
  }, [state]);
  return (
    <li className={`card step ${state}`} {...(state === "current" ? { "aria-current": "step" } : {})}>
      <span className="step-number" aria-hidden="true">
        {state === "done" ? <DoneIcon /> : number}
      </span>
      <div className="stack step-content">
        <h2 ref={heading} tabIndex={-1}>
          <span className="visually-hidden">Step {number}: </span>
          {title}
          {state === "done" && <span className="visually-hidden">, done</span>}
        </h2>
        {state === "current" && children}
        {state === "done" && outcome}
      </div>
    </li>
  );
}
