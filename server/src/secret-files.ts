// The files on this machine that hold secrets: what a start warns of and what the doctor looks at.
import { join } from 'node:path';
import type { Config } from './config.ts';
import { firstRunFile, untoldFile } from './first-start.ts';
import { listOpenFiles, type OpenFile } from './platform/file-modes.ts';

/** Files with secrets that somebody besides their owner can read or write. */
export async function listOpenSecretFiles(config: Config): Promise<OpenFile[]> {
  const { dataDir, secretEnvFile } = config;
  const paths = [join(dataDir, 'master.key'), firstRunFile(config), untoldFile(config)];
  return listOpenFiles(secretEnvFile === null ? paths : [secretEnvFile, ...paths]);
}

/** One sentence that says what to do. */
export function describeOpenFile({ path, mode }: OpenFile): string {
  return `${path} holds secrets and others can read or change it (mode ${mode}): chmod 600 ${path}`;
}
