// The parts that run at this address, for a person who just started the service: the API, and two
// ways to a first push.
import { Card } from '../ui/card.tsx';
import { CodeBlock } from '../ui/copy.tsx';
import { TabSet } from '../ui/tab-set.tsx';
import { curlOf } from './curl.ts';

export function WhatRuns({ hasDemo }: { hasDemo: boolean }) {
  const address = window.location.origin;
  const send = curlOf('/v1/messages', 'sk_live_…', {
    audience: { all: true },
    content: { title: 'Hello', body: 'From Carillon' },
  });
  return (
    <Card title="What runs here">
      <p style={{ margin: '0 0 12px' }}>
        The API answers at <span className="mono">{address}</span>.
      </p>
      <TabSet
        tabs={[
          [
            'Ring this browser',
            () => (
              <ol className="plain-steps">
                {hasDemo ? (
                  <>
                    <li>
                      Make a client key, open <span className="mono">{address}/demo#ck_live_…</span> with it, and allow
                      notifications.
                      <CodeBlock label="A client key" code="./carillon key create Demo --scope client" />
                    </li>
                    <li>
                      Make a server key. It is printed only once.
                      <CodeBlock label="A server key" code="./carillon key create Demo --scope server" />
                    </li>
                  </>
                ) : (
                  <>
                    <li>
                      Make an app of this name, which has a page to try it. Its two keys are printed only once.
                      <CodeBlock label="An app" code="./carillon app create Demo" />
                    </li>
                    <li>
                      Give it keys for browsers, open <span className="mono">{address}/demo#ck_live_…</span>, and allow
                      notifications.
                      <CodeBlock
                        label="Web push"
                        code="./carillon channel set Demo webpush --subject mailto:you@example.com"
                      />
                    </li>
                  </>
                )}
                <li>
                  Send to every device of the app.
                  <CodeBlock label="The first message" code={send} />
                </li>
              </ol>
            ),
          ],
          [
            'Ring simulated devices',
            () => (
              <ol className="plain-steps">
                <li>
                  Stop Carillon, and start it again beside push services of its own.
                  <CodeBlock label="The sandbox" code="./carillon sandbox -- npm start" />
                </li>
                <li>
                  In another terminal, make an app with five phones and browsers. It prints a server key.
                  <CodeBlock
                    label="Simulated devices"
                    code="./carillon seed --devices 5 --sandbox http://127.0.0.1:8090"
                  />
                </li>
                <li>
                  Send with that key. The inbox on <span className="mono">http://127.0.0.1:8090</span> shows what rings.
                  <CodeBlock label="The first message" code={send} />
                </li>
              </ol>
            ),
          ],
        ]}
      />
      <p className="muted" style={{ margin: '16px 0 0' }}>
        {hasDemo && (
          <>
            <a href="/demo">Demo page</a> ·{' '}
          </>
        )}
        <a href="/openapi.json">OpenAPI description</a> · <a href="/readyz">Readiness check</a>
      </p>
    </Card>
  );
}
