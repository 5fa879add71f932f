// A field that never waits for the page: what is typed stands in the field at once, and the page
// hears of it when the person pauses or leaves the field.
import { useEffect, useRef, useState } from 'react';

const same = (text: string): string => text;

/** A pause that a person who types does not notice, and a page can draw in: a guess. */
const pauseMs = 150;

export interface DeferredField {
  readonly text: string;
  readonly set: (text: string) => void;
  /** Tells the page now. */
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
  // A value that comes from elsewhere, such as another draft, replaces what was typed.
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
