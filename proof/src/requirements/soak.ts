// The soak: 200,000 sends of all channels. Providers say goodbye after a thousand pushes, cut
// connections, refuse one push in fifty for the moment, and call devices gone. What the providers
// saw is compared with what the service says.
import type { Requirement } from '../requirement.ts';
import { runSoak } from '../soak/run.ts';

const sendsFull = 200_000;
const sendsQuick = 2_000;

/** R-09 allows a process of the service this much memory. */
const serviceMbMost = 300;
/** The sandbox keeps its last thousand pushes. The collector decides about memory above that. */
const sandboxGrowthMbMost = 100;

const counted = (value: number) => value.toLocaleString('en');

export const requirement: Requirement = {
  number: 'soak',
  title: 'Many sends through providers that misbehave: nothing is lost, nothing repeated without a reason',
  leftOut: 'measures how memory grows over many pushes',
  async run({ isQuick, seed, report, workbench }) {
    const soaked = await runSoak(workbench, { sends: isQuick ? sendsQuick : sendsFull, seed });
    const { faults, scale } = soaked;

    const played = Object.entries(faults);
    report.claim(
      'the providers did as they were told',
      played.map(([kind, count]) => `${counted(count)} ${kind}`).join(', '),
      played.filter(([, count]) => count === 0).map(([kind]) => `Not one push was of the kind ${kind}.`),
    );
    report.claim(
      'every device has its end in every message',
      `${counted(soaked.deliveries)} deliveries, ${counted(soaked.pushes)} pushes on ${counted(soaked.connections)} connections, ${soaked.seconds.toFixed(0)} s`,
      [...soaked.lost, ...soaked.strangers.map((push) => `A push that nobody asked for: ${push}`)],
    );
    report.claim(
      'it is sent, or failed where its provider calls it gone',
      `${counted(soaked.accepted)} accepted`,
      soaked.astray,
    );
    report.claim(
      'a push is repeated after a 503 or a cut, and never after a clean GOAWAY',
      `${counted(soaked.pushes - soaked.deliveries)} more pushes than deliveries`,
      soaked.doubled,
    );
    const { untouched, untouchedCounted, attemptsUnseen } = soaked;
    report.claim(
      'what GOAWAY left untouched is no attempt',
      `${counted(untouched)} were; ${counted(attemptsUnseen)} attempts went with cuts`,
      // A cut may have hit one of these connections too, but not most of them.
      untouchedCounted * 2 > untouched ? [`${untouchedCounted} of them count an attempt that no provider read.`] : [],
    );
    report.claim(
      'callers are told the same',
      `${scale.messages} messages to ${counted(scale.devices)} devices`,
      soaked.disagreements,
    );
    report.claim(
      'no connection to FCM has more than 100 streams',
      `${soaked.streamsExceeded} had`,
      soaked.streamsExceeded > 0 ? ['The sandbox ended connections for it.'] : [],
    );
    const [early, late] = soaked.sandboxMb;
    report.claim(
      'the memory of the sandbox does not grow with the pushes',
      `${early.toFixed(0)} MB after a quarter, ${late.toFixed(0)} MB in the end`,
      late - early > sandboxGrowthMbMost ? [`It grew by more than ${sandboxGrowthMbMost} MB.`] : [],
    );
    report.claim(
      'each process of the service stays small',
      `${soaked.serviceMb.toFixed(0)} MB at most`,
      soaked.serviceMb > serviceMbMost ? [`It had more than ${serviceMbMost} MB.`] : [],
    );
  },
};
