// Reads the subset of the Dockerfile language that this project uses
// (https://docs.docker.com/reference/dockerfile/). It throws on anything else, so that no step is
// skipped silently.

export interface Stage {
  readonly name: string | undefined;
  readonly steps: readonly Step[];
}

export type Step =
  | { readonly kind: 'run'; readonly command: string }
  | { readonly kind: 'copy'; readonly from: string | undefined; readonly source: string; readonly target: string }
  | { readonly kind: 'workdir'; readonly path: string }
  | { readonly kind: 'env'; readonly values: Readonly<Record<string, string>> }
  | { readonly kind: 'user'; readonly user: string }
  | { readonly kind: 'healthcheck' | 'entrypoint' | 'cmd'; readonly words: readonly string[] }
  /** A step that configures the engine and changes no file. */
  | { readonly kind: 'note'; readonly name: string; readonly value: string };

export function parseDockerfile(text: string): readonly Stage[] {
  const stages: { name: string | undefined; steps: Step[] }[] = [];
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (line === '' || line.startsWith('#')) continue;
    const [, instruction = '', rest = ''] = /^([A-Z]+) +(\S.*)$/.exec(line) ?? [];
    if (instruction === 'ARG') continue;
    if (instruction === 'FROM') {
      const [, name] = /\sAS\s+(\S+)$/.exec(rest) ?? [];
      stages.push({ name, steps: [] });
      continue;
    }
    const stage = stages.at(-1);
    if (!stage) throw new Error(`The Dockerfile says ${line} before FROM`);
    stage.steps.push(parseStep(instruction, rest));
  }
  return stages;
}

function parseStep(instruction: string, rest: string): Step {
  switch (instruction) {
    case 'RUN':
      return { kind: 'run', command: rest };
    case 'COPY': {
      const [, from, source = '', target = ''] = /^(?:--from=(\S+)\s+)?(\S+)\s+(\S+)$/.exec(rest) ?? [];
      return { kind: 'copy', from, source, target };
    }
    case 'WORKDIR':
      return { kind: 'workdir', path: rest };
    case 'ENV':
      return { kind: 'env', values: Object.fromEntries(rest.split(/\s+/).map((pair) => pair.split('=', 2))) };
    case 'USER':
      return { kind: 'user', user: rest };
    case 'HEALTHCHECK':
      return { kind: 'healthcheck', words: readWords(rest.slice(rest.indexOf('CMD ') + 4)) };
    case 'ENTRYPOINT':
      return { kind: 'entrypoint', words: readWords(rest) };
    case 'CMD':
      return { kind: 'cmd', words: readWords(rest) };
    case 'VOLUME':
    case 'EXPOSE':
    case 'STOPSIGNAL':
      return { kind: 'note', name: instruction, value: rest };
    default:
      throw new Error(`The Dockerfile says ${instruction}, which this proof does not know`);
  }
}

/** The exec form: a JSON array of words. */
function readWords(text: string): readonly string[] {
  return JSON.parse(text) as string[];
}
