// `identify-secret rotate` and `clear`: the secrets with which an app's own server proves whose a
// device is. A new secret is printed once, by the command that makes it.
import { z } from 'zod';
import { identifyRoutes } from '../../console/operations/identify-routes.ts';
import { programName } from '../../ground/host/program-name.ts';
import { encodeId } from '../../ground/values/ids.ts';
import { secretForms } from '../../teams/apps/identify-record.ts';
import { clearIdentifySecrets, rotateIdentifySecret } from '../../teams/apps/identify-secrets.ts';
import { CommandError } from './answer.ts';
import { callOperation, operationNamed } from './call-operation.ts';
import type { CommandContext } from './context.ts';
import { appCommand } from './database-command.ts';

const proofOf = { token: 'user_token', hash: 'user_hash' } as const;

export const commands = [
  appCommand({
    form: 'identify-secret rotate <APP>',
    help: 'make a secret; with one there already both are valid until the rotation is finished',
    fields: {
      form: z.enum(secretForms).default('token').describe('what it proves: a signed token, or a hash of the user'),
      require_device: z.boolean().optional().describe('on: accept only tokens that name their device'),
    },
    async run(context, app, { form, require_device: isDeviceRequired }) {
      const seal = await context.loadSeal();
      const made = await rotateIdentifySecret({ ...context, seal }, app.id, { form, isDeviceRequired });
      const id = encodeId('app', app.id);
      const document = { ...(await readIdentify(context, id)), secret: made.secret };
      const also = [
        made.isRotation
          ? `The former one is valid beside it until: ${programName} identify-secret finish ${id}`
          : `From now on identify needs a ${proofOf[form]} made with it.`,
      ];
      if (made.hasReplacedNext)
        also.push('It takes the place of the one from the rotation before, which was not finished.');
      return { document, once: ['secret'], also };
    },
  }),
  appCommand({
    form: 'identify-secret clear <APP>',
    help: 'erase the secrets: identify needs no proof again',
    async run(context, app) {
      if (!(await clearIdentifySecrets(context, app.id))) throw new CommandError('There is no secret.');
      return { document: await readIdentify(context, encodeId('app', app.id)) };
    },
  }),
];

function readIdentify(context: CommandContext, app: string): Promise<object> {
  return callOperation(context, { operation: operationNamed(identifyRoutes, 'getIdentify'), given: { app } });
}
