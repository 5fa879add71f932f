// Code that verifies a signature, from the tested examples of the server SDK.

import { Tabs } from '@mantine/core';
import express from '../../../../node/examples/express.ts?raw';
import fastify from '../../../../node/examples/fastify.ts?raw';
import hono from '../../../../node/examples/hono.ts?raw';
import next from '../../../../node/examples/next.ts?raw';
import { Card } from '../../ui/card.tsx';
import { CodeBlock } from '../../ui/copy.tsx';

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
      <Tabs defaultValue="Express" keepMounted={false}>
        <Tabs.List mb="sm">
          {frameworks.map(([name]) => (
            <Tabs.Tab key={name} value={name}>
              {name}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {frameworks.map(([name, code]) => (
          <Tabs.Panel key={name} value={name}>
            <CodeBlock label={`Verifying with ${name}`} code={code.trim()} />
          </Tabs.Panel>
        ))}
      </Tabs>
    </Card>
  );
}
