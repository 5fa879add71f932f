// A request that can be told from all others by every part of it. Pure.
import type { Http2Request } from '@carillon/http2';

export interface Asked {
  readonly id: number;
  readonly echo: string;
  readonly request: Http2Request;
}

/**
 * A text of the request's number, repeated, so that every part of it shows which request it belongs
 * to.
 */
export const markerText = (id: number, bytes: number): string => {
  const mark = `#${id}:`;
  return mark.repeat(Math.ceil(bytes / mark.length)).slice(0, bytes);
};
