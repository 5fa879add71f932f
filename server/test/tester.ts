// The actor of changes in tests, as operations write it into the audit log.
import { type Actor, serviceActor } from '../src/teams/audit/actor.ts';

export const tester: Actor = serviceActor('test');
