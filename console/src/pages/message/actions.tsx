// Cancels a message.

import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { messageCan } from '../../api/can.ts';
import { call } from '../../api/client.ts';
import type { Message } from '../../api/objects.ts';
import { queryClient, queryOf } from '../../api/queries.ts';
import { ConfirmButton } from '../../components/confirm.tsx';
import { May } from '../../components/not-allowed.tsx';
import { count } from '../../format.ts';

export function Actions({ app, message }: { app: string; message: Message }) {
  const cancel = useMutation({
    mutationFn: () => call('cancelMessage', { app, id: message.id }),
    onSuccess: (after) => {
      queryClient.setQueryData(queryOf('getMessage', { app, id: message.id }).queryKey, after);
      notifications.show({ message: 'The message is canceled.' });
    },
  });
  if (!messageCan(message.status, 'cancel')) return null;
  const open = message.report.pending ?? 0;
  const effect =
    message.status === 'scheduled'
      ? 'The message is scheduled. Nothing of it will be sent.'
      : `${count(open, 'device')} still to come will not be rung, and the quota for them is given back. What is sent stays sent.`;
  return (
    <May act="message.cancel" size={13}>
      <ConfirmButton
        label="Cancel message"
        title="Cancel this message?"
        effect={effect}
        isDestructive
        run={() => cancel.mutateAsync()}
      />
    </May>
  );
}
