// The same message as a call of the API, to send it from a program.
import type { Message } from '../api/objects.ts';
import { useMay } from '../api/session.ts';
import { Card } from '../ui/card.tsx';
import { CodeBlock } from '../ui/copy.tsx';
import { TabSet } from '../ui/tab-set.tsx';
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
  const isHidden = !may && (audience.filter || Object.keys(audience).length === 0);
  const curl = curlOf('/v1/messages', '$CARILLON_SERVER_KEY', { audience, content, ...rest }).replace(
    "'authorization: Bearer $CARILLON_SERVER_KEY'",
    '"authorization: Bearer $CARILLON_SERVER_KEY"',
  );
  return (
    <Card title="As API call">
      {isHidden ? (
        <HiddenValuesNote />
      ) : (
        <TabSet
          tabs={[
            ['curl', () => <CodeBlock label="The call with curl" code={curl} />],
            ['Node.js', () => <CodeBlock label="The call with Node.js" code={node} />],
          ]}
        />
      )}
    </Card>
  );
}
