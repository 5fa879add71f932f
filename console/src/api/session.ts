// The person who is signed in and the app that the address names, for every page below the frame.
import { useSuspenseQuery } from '@tanstack/react-query';
import { useParams } from 'react-router';
import { type Act, mayDo, refusalFor } from './can.ts';
import type { App, PresentSession } from './objects.ts';
import { queryOf } from './queries.ts';

export const useSession = (): PresentSession => useSuspenseQuery(queryOf('getSession', {})).data;

/** The id of the app in the address. */
export function useAppId(): string {
  const { app } = useParams();
  if (app === undefined) throw new Error('this page has no app in its address');
  return app;
}

export const useApp = (): App => useSuspenseQuery(queryOf('getApp', { app: useAppId() })).data;

/** Whether the person may do it, and the reason if not. */
export function useMay(act: Act): { readonly may: boolean; readonly reason: string | null } {
  const { role } = useSession();
  return { may: mayDo(role, act), reason: refusalFor(role, act) };
}
