// How much of a text each screen shows, as the service counted it for the reader of the preview.

import { screenTitles } from './drawn-screen.tsx';
import type { Channel } from './message-form.ts';
import type { Rendering } from './previews.tsx';

interface LengthsProps {
  readonly rendering: Rendering;
  readonly part: 'title' | 'body';
  /** Null: all channels. */
  readonly channel: Channel | null;
}

export function Lengths({ rendering, part, channel }: LengthsProps) {
  const screens = Object.entries(rendering.byChannel)
    .filter(([each]) => channel === null || each === channel)
    .flatMap(([, rendered]) => rendered?.screens ?? []);
  const counted = screens.flatMap((screen) => {
    const text = screen[part];
    return text === null ? [] : [{ screen: screen.screen, ...text }];
  });
  // Space is reserved, so that nothing below moves when the lengths arrive.
  const kind = channel === 'apns' || channel === 'fcm' ? 'lengths is-short' : 'lengths';
  if (counted.length === 0) return <p className={`${kind} muted`}>How much each screen shows is counted here.</p>;
  return (
    <ul className={kind} aria-label={`Length of the ${part} on each screen`}>
      {counted.map(({ screen, length, limit }) => (
        <li key={screen} className={length > limit ? 'tone-warn' : 'muted'}>
          {screenTitles[screen]} {length}/{limit}
          {length > limit && ' cut'}
        </li>
      ))}
    </ul>
  );
}
