// Types and helpers of the client's methods: the call of one endpoint, and the fields of its query.
import type { CallOptions, OperationName } from './call.ts';
import type { Operations } from './types.gen.ts';

/** The options that any call takes. */
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

/** Items per page when the client walks a list. */
export const pageLimit = 200;
