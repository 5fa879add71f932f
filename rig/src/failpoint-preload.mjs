// Node loads this file (`--import`) before the service into every process of a service that is to
// be broken. It arms the failpoints by the plan in CARILLON_FAILPOINTS. Nothing in the service
// knows this file.
import { appendFileSync, closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';
import { armFailpoints } from '../../server/dist/program/failpoint.js';

/** @type {import('./failpoints.ts').FailpointPlan} */
const plan = JSON.parse(process.env['CARILLON_FAILPOINTS'] ?? '{"directory":"","rules":[]}');
const hits = new Map();

/**
 * The first process that reaches a rule owns it, so that the process that replaces it does not die
 * of the same rule.
 */
function isMine(index) {
  try {
    closeSync(openSync(join(plan.directory, `rule-${index}`), 'wx'));
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

function act(rule) {
  // Written before the action, because a killed process writes nothing afterwards.
  const fired = { at: Date.now(), pid: process.pid, name: rule.name, action: rule.action };
  appendFileSync(join(plan.directory, 'fired.ndjson'), `${JSON.stringify(fired)}\n`);
  if (rule.action === 'throw') throw new Error(`failpoint ${rule.name}`);
  if (rule.action === 'wait') return sleep(rule.waitMs);
  process.kill(process.pid, rule.action === 'kill' ? 'SIGKILL' : 'SIGSTOP');
  return undefined;
}

if (isMainThread && plan.rules.length > 0) {
  armFailpoints((name) => {
    const hit = (hits.get(name) ?? 0) + 1;
    hits.set(name, hit);
    const index = plan.rules.findIndex((rule) => rule.name === name && rule.hit === hit);
    return index >= 0 && isMine(index) ? act(plan.rules[index]) : undefined;
  });
}
