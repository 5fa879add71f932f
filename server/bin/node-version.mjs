// Says when Node.js is older than what Carillon is written for. Loaded before everything else, so
// it may use nothing new.

/**
 * What to tell somebody with that version of Node.js, as `process.versions.node` has it; undefined
 * where it will do.
 */
export function describeOldNode(version) {
  const [major, minor] = version.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return undefined;
  return `Carillon needs Node.js 20.19 or newer, and this is ${version}: install a newer one from https://nodejs.org`;
}
