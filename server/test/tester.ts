// The one who makes changes in tests: what operations write into the audit log.
import { type Actor, serviceActor } from '../src/audit/actor.ts';

export const tester: Actor = serviceActor('test');
