// The error that ends a command with one clear line for the operator and exit status 1.

export class CommandError extends Error {
  override readonly name = 'CommandError';
}
