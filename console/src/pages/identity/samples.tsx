// Code that makes a proof, from the tested guide.
import guide from '../../../../docs/identify.md?raw';
import { Card } from '../../ui/card.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { TabSet } from '../../ui/tab-set.tsx';
import type { Form } from './secrets.tsx';

const languages = [
  ['js', 'Node.js'],
  ['python', 'Python'],
  ['php', 'PHP'],
  ['ruby', 'Ruby'],
  ['go', 'Go'],
] as const;

const functions = { token: /(def|func|function) user_?token\(/i, hash: /(def|func|function) user_?hash\(/i };

/** The code of the documents, which is tested there. */
function sampleOf(form: Form, language: string): string {
  const blocks = guide.split(`\n\`\`\`${language}\n`).slice(1);
  const codes = blocks.map((rest) => rest.slice(0, rest.indexOf('\n```')));
  return codes.find((code) => functions[form].test(code)) ?? '';
}

export function Samples({ newest }: { newest: Form }) {
  return (
    <Card title={`Make the ${newest} on your server`}>
      <TabSet
        tabs={languages.map(([language, name]) => [
          name,
          () => <CodeBlock label={`The ${newest} with ${name}`} code={sampleOf(newest, language)} />,
        ])}
      />
    </Card>
  );
}
