// A field that never waits for the page: typed text appears at once, and the page gets it when the
// person pauses or leaves the field.
import { useEffect, useRef, useState } from 'react';

const same = (text: string): string => text;

/** A guess: a pause that a typing person does not notice, and in which a page can be drawn. */
const pauseMs = 150;

export interface DeferredField {
  readonly text: string;
  readonly set: (text: string) => void;
  /** Passes the text to the page now. */
  readonly settle: () => void;
}

/** `normalOf` is the form in which the page keeps a text, such as without trailing commas. */
export function useDeferred(
  value: string,
  onChange: (text: string) => void,
  normalOf: (text: string) => string = same,
): DeferredField {
  const [text, setText] = useState(value);
  const told = useRef(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const latest = useRef({ text, onChange });
  latest.current = { text, onChange };
  // A value from elsewhere, such as another draft, replaces the typed text.
  useEffect(() => {
    if (value === normalOf(told.current)) return;
    told.current = value;
    setText(value);
  }, [value, normalOf]);
  const settle = () => {
    clearTimeout(timer.current);
    if (latest.current.text === told.current) return;
    told.current = latest.current.text;
    latest.current.onChange(latest.current.text);
  };
  const settleLatest = useRef(settle);
  settleLatest.current = settle;
  useEffect(() => () => settleLatest.current(), []);
  return {
    text,
    set(next) {
      latest.current.text = next;
      setText(next);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => settleLatest.current(), pauseMs);
    },
    settle,
  };
}
