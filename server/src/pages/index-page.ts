// Makes the text of the page at `/`: commands with the address of this service, which ring a
// browser or simulated devices. There is a text with the app Demo and a text without it.
import { programName, startCommand } from '../ground/program-name.ts';

export interface IndexFacts {
  /** The service's own address, without a trailing slash. */
  readonly address: string;
  readonly hasDemo: boolean;
}

/** Fills the template of server/pages/index.html. */
export function fillIndex(template: string, { address, hasDemo }: IndexFacts): string {
  const send = [
    `curl ${address}/v1/messages \\`,
    "  -H 'authorization: Bearer sk_live_…' \\",
    "  -H 'content-type: application/json' \\",
    `  -d '{"audience": {"all": true},`,
    `       "content": {"title": "Hello", "body": "From Carillon"}}'`,
  ].join('\n');
  const values: Readonly<Record<string, string>> = { address, send, program: programName, start: startCommand };
  return leaveOut(template, hasDemo ? 'without-demo' : 'with-demo').replaceAll(/\{\{(\w+)\}\}/g, (_all, name: string) =>
    escapeHtml(values[name] ?? ''),
  );
}

/** Deletes the lines between `<!-- NAME -->` and `<!-- /NAME -->`, and every such mark. */
function leaveOut(template: string, name: string): string {
  let isLeftOut = false;
  const kept = template.split('\n').filter((line) => {
    const mark = line.trim();
    if (mark === `<!-- ${name} -->`) isLeftOut = true;
    const isKept = !isLeftOut && !mark.startsWith('<!-- ');
    if (mark === `<!-- /${name} -->`) isLeftOut = false;
    return isKept;
  });
  return kept.join('\n');
}

function escapeHtml(text: string): string {
  const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.replaceAll(/[&<>"]/g, (character) => entities[character] ?? character);
}
