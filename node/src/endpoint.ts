// What the methods of the client are made of: one call of an endpoint, and the fields of its query.
import type { CallOptions, OperationName } from './call.ts';
import type { Operations } from './types.gen.ts';

/** What goes with any call. */
export type RequestOptions = Omit<CallOptions, 'idempotencyKey'>;
export type SendOptions = CallOptions;

export type Query<Name extends OperationName> = Operations[Name]['given'] extends { query?: infer Fields }
  ? Fields
  : never;
export type Request = <Name extends OperationName>(
  name: Name,
  given: Operations[Name]['given'],
  options?: CallOptions,
) => Promise<Operations[Name]['answer']>;

/** Items a page has where a walk fetches it. */
export const pageLimit = 200;
