// What stops a command in one clear line for the operator, with exit status 1.

export class CommandError extends Error {
  override readonly name = 'CommandError';
}
