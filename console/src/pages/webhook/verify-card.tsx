// Code that verifies a signature, from the tested examples of the server SDK.

import express from '../../../../node/examples/express.ts?raw';
import fastify from '../../../../node/examples/fastify.ts?raw';
import hono from '../../../../node/examples/hono.ts?raw';
import next from '../../../../node/examples/next.ts?raw';
import { Card } from '../../ui/card.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { TabSet } from '../../ui/tab-set.tsx';

const frameworks = [
  ['Express', express],
  ['Fastify', fastify],
  ['Hono', hono],
  ['Next.js', next],
] as const;

export function VerifyCard() {
  return (
    <Card title="Verify the signature">
      <p className="muted" style={{ margin: '0 0 12px' }}>
        The signature is over the bytes as they came. Read them before anything parses them.
      </p>
      <TabSet
        tabs={frameworks.map(([name, code]) => [
          name,
          () => <CodeBlock label={`Verifying with ${name}`} code={code.trim()} />,
        ])}
      />
    </Card>
  );
}
