// The set-up of test projects whose sources import the types that the build writes.
import { ensureTypes } from './build.mjs';

export function setup() {
  return ensureTypes();
}
