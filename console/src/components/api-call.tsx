// The same message as a call of the API, to send it from a program.
import { Tabs } from '@mantine/core';
import type { Message } from '../api/objects.ts';
import { useMay } from '../api/session.ts';
import { Card } from '../ui/card.tsx';
import { CodeBlock } from '../ui/copy.tsx';
import { curlOf } from './curl.ts';
import { HiddenValuesNote } from './hidden-values.tsx';

export function ApiCall({ message }: { message: Message }) {
  const { audience, content, name, metadata, exclude_segment_id: excluded, per_second: rate } = message;
  const rest = {
    ...(excluded !== null && { exclude_segment_id: excluded }),
    ...(rate !== null && { per_second: rate }),
    ...(name !== null && { name }),
    ...(metadata !== null && { metadata }),
  };
  const body = JSON.stringify({ audience, content, ...rest }, null, 2);
  const node = [
    "import { Carillon } from '@carillon/node';",
    '',
    `const carillon = new Carillon({ baseUrl: '${window.location.origin}', apiKey: process.env.CARILLON_SERVER_KEY });`,
    `await carillon.messages.send(${body});`,
  ].join('\n');
  const { may } = useMay('value.read');
  // Without the hidden values it would be another call.
  if (!may && (audience.filter || Object.keys(audience).length === 0)) {
    return (
      <Card title="As API call">
        <HiddenValuesNote />
      </Card>
    );
  }
  return (
    <Card title="As API call">
      <Tabs defaultValue="curl" keepMounted={false}>
        <Tabs.List mb="sm">
          <Tabs.Tab value="curl">curl</Tabs.Tab>
          <Tabs.Tab value="node">Node.js</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="curl">
          <CodeBlock
            label="The call with curl"
            code={curlOf('/v1/messages', '$CARILLON_SERVER_KEY', { audience, content, ...rest }).replace(
              "'authorization: Bearer $CARILLON_SERVER_KEY'",
              '"authorization: Bearer $CARILLON_SERVER_KEY"',
            )}
          />
        </Tabs.Panel>
        <Tabs.Panel value="node">
          <CodeBlock label="The call with Node.js" code={node} />
        </Tabs.Panel>
      </Tabs>
    </Card>
  );
}
