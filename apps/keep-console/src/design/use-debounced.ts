import { useEffect, useState } from "react";

/** Waits for the next keystroke of a fast typist without a noticeable delay. */
const debounceMilliseconds = 60;

/** Local text that updates at once and is passed on after a pause. */
export function useDebounced(
  given: string,
  onSettled: (text: string) => void,
): [string, (text: string) => void] {
  const [text, setText] = useState(given);
  const [last, setLast] = useState(given);
  // The value changed elsewhere; when it changed from here, it equals the text already.
  if (last !== given) {
    setLast(given);
    setText(given);
  }
  useEffect(() => {
    if (text === given) return undefined;
    const timer = setTimeout(onSettled, debounceMilliseconds, text);
    return () => clearTimeout(timer);
  }, [text, given, onSettled]);
  return [text, setText];
}
