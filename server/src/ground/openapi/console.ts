// The console's API, as its description introduces it.
import type { ApiErrorCode } from '../http/api-error.ts';
import type { Api } from './document.ts';
import { refusalsOfConsole } from './refusals.ts';

const about = `The API of Carillon's console, for its pages and for scripts of operators. It is not part of \`/v1\`, and may change with
each release; the changelog says so.

- A page calls it with the cookie of a session. A script calls it with an operator token:
  \`Authorization: Bearer ot_live_…\`, without a cookie and without an \`Origin\` header.
- \`x-least-role\` is the least role of the caller: viewer, member, admin, owner. \`person\` stands for any role by a session.
- A viewer gets names, types and numbers. Values of people are left out of their answers, also the \`value\` of conditions
  in filters.
- What another organisation owns is 404.
- A write of something that people edit carries the \`updated_at\` that was read. If it has changed since, the answer is 400
  \`changed_meanwhile\` with the present object.
- Secrets are shown once, by the answer that makes them. No read returns them.`;

const refusalsOfCallers: readonly ApiErrorCode[] = [
  ...(['not_signed_in', 'role_too_low', 'second_factor_required', 'cross_origin'] as const),
  ...(['rate_limited', 'unavailable'] as const),
];

export const consoleApi: Api = {
  info: {
    title: 'Carillon console',
    version: '1',
    summary: 'What the console does, for its pages and for scripts.',
    description: about,
    license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
  },
  servers: [{ url: '/', description: 'Where this description is served.' }],
  securitySchemes: {
    session: {
      type: 'apiKey',
      in: 'cookie',
      name: '__Host-carillon_session',
      description: 'The session of a person; over plain http on this machine `carillon_session`.',
    },
    operatorToken: { type: 'http', scheme: 'bearer', description: 'An operator token, `ot_live_…`, for scripts.' },
  },
  access: {
    'session-or-token': { security: [{ session: [] }, { operatorToken: [] }], refusals: refusalsOfCallers },
    session: { security: [{ session: [] }], refusals: [...refusalsOfCallers, 'session_only'] },
    public: { security: [], refusals: ['cross_origin', 'unavailable'] },
  },
  refusals: refusalsOfConsole,
  headers: {},
  counted: {},
};
