// The content of a message as its author wrote it. Text stays text: nothing of it is read as HTML
// or followed as a link.
import type { Content } from '../api/objects.ts';
import { channelNames } from '../format.ts';
import { Card } from '../ui/card.tsx';
import { CodeBlock } from '../ui/copy.tsx';
import { TabSet } from '../ui/tab-set.tsx';
import { labelOf } from './compose/content-fields.ts';

export function ContentAsSent({ content }: { content: Content }) {
  const { locales, webpush, apns, fcm, ...common } = content;
  const channels = { webpush, apns, fcm };
  const overrides = Object.entries(channels).filter(([, value]) => value);
  const languages = Object.entries(locales ?? {});
  const others = [
    ...overrides.map(([channel, given]) => [channelNames[channel as keyof typeof channelNames], given] as const),
    ...languages,
  ];
  return (
    <Card title="Content">
      {others.length === 0 ? (
        <Bubble content={common} />
      ) : (
        <TabSet
          tabs={[
            ['All devices', () => <Bubble content={common} />],
            ...others.map(([name, given]) => [name, () => <Differences given={given ?? {}} />] as const),
          ]}
        />
      )}
    </Card>
  );
}

function Bubble({ content }: { content: Content }) {
  const { title, body, ...rest } = content;
  const others = Object.entries(rest).filter(([, value]) => value !== undefined && value !== null);
  return (
    <div style={{ display: 'grid', gap: 12 }}>
      <div className="bubble">
        <strong>{title || <span className="muted">No title</span>}</strong>
        <span style={{ whiteSpace: 'pre-wrap' }}>{body || <span className="muted">No body</span>}</span>
      </div>
      {others.length > 0 && (
        <dl className="facts">
          {others.map(([name, value]) => (
            <div key={name} style={{ display: 'contents' }}>
              <dt>{labelOf(name)}</dt>
              <dd className="mono">{typeof value === 'object' ? JSON.stringify(value) : String(value)}</dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  );
}

function Differences({ given }: { given: object }) {
  return (
    <>
      <p className="muted" style={{ margin: '0 0 8px' }}>
        What differs here from the content for all devices. <span className="mono">null</span> removes a value.
      </p>
      <CodeBlock label="Differences" code={JSON.stringify(given, null, 2)} isWrapped />
    </>
  );
}
