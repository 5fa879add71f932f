// The live feed of the app in the address, for every page below it, and whether it is connected.
import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';
import { followLive } from '../api/live.ts';
import { applyLive } from '../api/live-cache.ts';

const Live = createContext(false);

/** True: figures update by themselves, so no page has to request them. */
export const useIsLive = (): boolean => useContext(Live);

/** Milliseconds without a connection after which the page says so. */
const quietMs = 4000;

export function LiveFeed({ appId, children }: { appId: string; children: ReactNode }) {
  const client = useQueryClient();
  const [isLive, setLive] = useState(false);
  const [isLost, setLost] = useState(false);
  useEffect(
    () => followLive(appId, { onConnected: setLive, onEvent: (event) => applyLive(client, appId, event) }),
    [appId, client],
  );
  useEffect(() => {
    setLost(false);
    if (isLive) return;
    const timer = setTimeout(() => setLost(true), quietMs);
    return () => clearTimeout(timer);
  }, [isLive]);
  return (
    <Live value={isLive}>
      {isLost && (
        <p className="muted" role="status" style={{ margin: '0 0 12px' }}>
          <span className="dot tone-warn" aria-hidden="true" /> The live feed is lost. Figures are read again every few
          seconds until it is back.
        </p>
      )}
      {children}
    </Live>
  );
}
