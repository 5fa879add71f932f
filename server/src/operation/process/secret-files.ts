// Finds the files on this machine that hold secrets and that others can read. A start warns of
// them, and the doctor reports them.
import { join } from 'node:path';
import type { Config } from '../../config.ts';
import { listOpenFiles, type OpenFile } from '../../ground/host/file-modes.ts';
import { firstRunFile, untoldFile } from './first-start.ts';

/** Lists files with secrets that other users than their owner can read or write. */
export async function listOpenSecretFiles(config: Config): Promise<OpenFile[]> {
  const { dataDir, secretEnvFile } = config;
  const paths = [join(dataDir, 'master.key'), firstRunFile(config), untoldFile(config)];
  return listOpenFiles(secretEnvFile === null ? paths : [secretEnvFile, ...paths]);
}

/** Says in one sentence what is wrong and what to do. */
export function describeOpenFile({ path, mode }: OpenFile): string {
  return `${path} holds secrets and others can read or change it (mode ${mode}): chmod 600 ${path}`;
}
