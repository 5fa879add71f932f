// One server for the run; each test file gets an empty database.
import type { TestProject } from 'vitest/node';
import { startTestServer } from './test-server.ts';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { serverUrl, adminUrl, stop } = await startTestServer();
  project.provide('serverUrl', serverUrl);
  project.provide('adminUrl', adminUrl);
  project.provide('templateName', 'template1');
  return stop;
}
