// Code that makes a proof, from the tested guide.

import { Tabs } from '@mantine/core';
import guide from '../../../../docs/identify.md?raw';
import { Card } from '../../ui/card.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import type { Form } from './secrets.tsx';

const languages = [
  ['js', 'Node.js'],
  ['python', 'Python'],
  ['php', 'PHP'],
  ['ruby', 'Ruby'],
  ['go', 'Go'],
] as const;

/** The code of the documents, which is tested there. */
function samplesOf(form: Form): (readonly [language: string, code: string])[] {
  return languages.map(([language, name]) => {
    const blocks = guide.split(`\n\`\`\`${language}\n`).slice(1);
    const code = blocks
      .map((rest) => rest.slice(0, rest.indexOf('\n```')))
      .find((block) =>
        (form === 'token' ? /(def|func|function) user_?token\(/i : /(def|func|function) user_?hash\(/i).test(block),
      );
    return [name, code ?? ''] as const;
  });
}

export function Samples({ newest }: { newest: Form }) {
  return (
    <Card title={`Make the ${newest} on your server`}>
      <Tabs defaultValue="Node.js" keepMounted={false}>
        <Tabs.List mb="sm">
          {languages.map(([, name]) => (
            <Tabs.Tab key={name} value={name}>
              {name}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {samplesOf(newest).map(([name, code]) => (
          <Tabs.Panel key={name} value={name}>
            <CodeBlock label={`The ${newest} with ${name}`} code={code} />
          </Tabs.Panel>
        ))}
      </Tabs>
    </Card>
  );
}
