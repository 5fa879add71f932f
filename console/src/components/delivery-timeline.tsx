// The timeline of a delivery: each attempt with the push service's unchanged answer. A body is
// always shown as text, never as markup.

import { UnstyledButton } from '@mantine/core';
import { useState } from 'react';
import type { ProviderAnswer, TimelineEntry } from '../api/objects.ts';
import { codeTitle } from '../failure-codes.ts';
import { formatBody, formatClock, formatDuration, formatExact } from '../format.ts';
import { CodeBlock } from '../ui/copy.tsx';
import { Mark, type StateMark, type Tone } from '../ui/state.tsx';

interface Told {
  readonly tone: Tone;
  readonly mark: StateMark;
  readonly title: string;
  readonly text?: string;
}

const providers = { webpush: 'The web push service', apns: 'Apple', fcm: 'Google' } as const;
const transport: Readonly<Record<string, string>> = {
  timeout: 'No answer came within 10 seconds.',
  dns_error: 'The host name has no address.',
  connect_error: 'The connection was refused.',
  tls_error: 'The TLS connection failed.',
  reset: 'The connection was cut before the answer.',
  blocked_address: 'The address is not a public one, so the guard blocked it.',
};

function tell(entry: TimelineEntry): Told {
  switch (entry.type) {
    case 'queued':
      return {
        tone: 'idle',
        mark: 'waiting',
        title: 'Queued',
        text: 'This device was in the audience of the message.',
      };
    case 'skipped':
      return { tone: 'idle', mark: 'none', title: 'Skipped', text: `${codeTitle(entry.reason)}.` };
    case 'expired':
      return { tone: 'bad', mark: 'failed', title: 'Expired', text: `${codeTitle('expired')}.` };
    case 'device_invalidated':
      return { tone: 'bad', mark: 'alert', title: 'Device became invalid', text: `${codeTitle(entry.reason)}.` };
    case 'displayed':
      return { tone: 'good', mark: 'done', title: 'Displayed', text: 'The device showed the notification.' };
    case 'clicked': {
      const text = entry.action === null ? 'The person opened it.' : `The person chose the button “${entry.action}”.`;
      return { tone: 'good', mark: 'done', title: 'Clicked', text };
    }
    case 'dismissed':
      return { tone: 'idle', mark: 'none', title: 'Dismissed', text: 'The person closed the notification.' };
    case 'attempt':
      return tellAttempt(entry);
  }
}

function tellAttempt(entry: TimelineEntry & { type: 'attempt' }): Told {
  const { attempt, outcome, error_code, provider, latency_ms, retry_at } = entry;
  const who = provider ? providers[provider.name] : 'Carillon';
  const status = provider?.http_status;
  const answer = status ? `answered ${status} in ${formatDuration(latency_ms)}` : 'did not answer';
  const code = error_code === null ? '' : `: ${codeTitle(error_code).toLowerCase()}`;
  if (outcome === 'sent')
    return { tone: 'good', mark: 'done', title: `Attempt ${attempt}: sent`, text: `${who} ${answer}.` };
  const reason = provider?.transport_error ? ` ${transport[provider.transport_error] ?? provider.transport_error}` : '';
  const text = provider === null ? 'Our own check refused the push before a request.' : `${who} ${answer}.${reason}`;
  if (outcome === 'retry') {
    const next = retry_at ? ` The next attempt is at ${formatClock(retry_at)}.` : '';
    return { tone: 'warn', mark: 'waiting', title: `Attempt ${attempt}${code}`, text: text + next };
  }
  return { tone: 'bad', mark: 'failed', title: `Attempt ${attempt}${code}`, text };
}

export function DeliveryTimeline({ entries }: { entries: readonly TimelineEntry[] }) {
  return (
    <ol className="steps">
      {entries.map((entry) => {
        const { tone, mark, title, text } = tell(entry);
        return (
          <li className="step" key={`${entry.type} ${entry.at}`}>
            <Mark tone={tone} mark={mark} />
            <div style={{ display: 'flex', gap: 12, justifyContent: 'space-between' }}>
              <strong>{title}</strong>
              <time
                className="muted mono"
                dateTime={entry.at}
                title={formatExact(entry.at)}
                style={{ whiteSpace: 'nowrap' }}
              >
                {formatClock(entry.at)}
              </time>
            </div>
            {text !== undefined && <p style={{ margin: '2px 0 0' }}>{text}</p>}
            {entry.type === 'attempt' && entry.provider && <RawAnswer answer={entry.provider} />}
          </li>
        );
      })}
    </ol>
  );
}

function RawAnswer({ answer }: { answer: ProviderAnswer }) {
  const [isOpen, setOpen] = useState(answer.http_status !== null && answer.http_status >= 400);
  if (answer.http_status === null && answer.body === null) return null;
  const headers = Object.entries(answer.headers).map(([name, value]) => `${name}: ${value}`);
  const head = [`HTTP ${answer.http_status ?? '–'}`, ...headers].join('\n');
  const raw =
    answer.body === null
      ? head
      : `${head}\n\n${formatBody(answer.body)}${answer.truncated ? '\n… cut at 4,096 bytes' : ''}`;
  return (
    <>
      <UnstyledButton
        onClick={() => setOpen(!isOpen)}
        aria-expanded={isOpen}
        style={{ fontSize: 13, color: 'var(--accent)', margin: '4px 0' }}
      >
        {isOpen ? 'Hide the answer' : 'Show the answer as it came'}
      </UnstyledButton>
      {isOpen && <CodeBlock label="Answer of the push service" code={raw} isWrapped />}
    </>
  );
}
