// The content of a message as its author wrote it. Text stays text: nothing of it is read as HTML
// or followed as a link.
import { Tabs } from '@mantine/core';
import type { Content } from '../api/objects.ts';
import { channelNames } from '../format.ts';
import { Card } from '../ui/card.tsx';
import { CodeBlock } from '../ui/copy.tsx';
import { labelOf } from './compose/content-fields.ts';

export function ContentAsSent({ content }: { content: Content }) {
  const { locales, webpush, apns, fcm, ...common } = content;
  const channels = { webpush, apns, fcm };
  const overrides = Object.entries(channels).filter(([, value]) => value);
  const languages = Object.entries(locales ?? {});
  if (overrides.length === 0 && languages.length === 0) {
    return (
      <Card title="Content">
        <Bubble content={common} />
      </Card>
    );
  }
  return (
    <Card title="Content">
      <Tabs defaultValue="all" keepMounted={false}>
        <Tabs.List mb="sm">
          <Tabs.Tab value="all">All devices</Tabs.Tab>
          {overrides.map(([channel]) => (
            <Tabs.Tab key={channel} value={channel}>
              {channelNames[channel as keyof typeof channelNames]}
            </Tabs.Tab>
          ))}
          {languages.map(([language]) => (
            <Tabs.Tab key={language} value={`language-${language}`}>
              {language}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="all">
          <Bubble content={common} />
        </Tabs.Panel>
        {overrides.map(([channel, given]) => (
          <Tabs.Panel key={channel} value={channel}>
            <Differences given={given as object} />
          </Tabs.Panel>
        ))}
        {languages.map(([language, given]) => (
          <Tabs.Panel key={language} value={`language-${language}`}>
            <Differences given={given ?? {}} />
          </Tabs.Panel>
        ))}
      </Tabs>
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
