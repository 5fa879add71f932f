// Describes a request that matches no route: the path does not exist, or the path has other
// methods. The status is 404 in both cases (contract 1).
import type { IncomingMessage } from 'node:http';

interface RouteAddress {
  readonly method: string;
  readonly path: string;
}

/** Characters that are shown of a path, because a path may have any length. */
const shownMax = 80;

export function pathDescriber(routes: readonly RouteAddress[]): (request: IncomingMessage) => string {
  const patterns = new Map<string, { pattern: RegExp; methods: string[] }>();
  for (const { method, path } of routes) {
    const known = patterns.get(path);
    if (known) known.methods.push(method);
    else patterns.set(path, { pattern: new RegExp(`^${path.replace(/:[a-z_]+/g, '[^/]+')}$`), methods: [method] });
  }
  return ({ url = '', method = '' }) => {
    const path = url.split('?', 1)[0] ?? '';
    const methods = [...patterns.values()].flatMap((each) => (each.pattern.test(path) ? each.methods : []));
    if (methods.length > 0) return `This path takes ${methods.join(', ')}, and no ${method}.`;
    return `There is no path ${path.length <= shownMax ? path : `${path.slice(0, shownMax)}…`} here.`;
  };
}
