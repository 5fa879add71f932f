// A session of a person in the console. Its token is 256 random bits. Only the browser has
// the token; the database has its hash. A session ends after twelve hours without a request, and
// seven days after the sign-in.
import { createHash, randomBytes } from 'node:crypto';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Role } from './roles.ts';

export const idleHoursMax = 12;
export const sessionDaysMax = 7;

export interface Session {
  readonly id: Uuid;
  readonly accountId: Uuid;
  readonly email: string;
  readonly name: string;
  readonly hasSecondFactor: boolean;
  readonly createdAt: Date;
  readonly lastUsedAt: Date;
  /** The organisation in which the session works, and the person's role there. */
  readonly organisationId: Uuid;
  readonly organisationName: string;
  readonly needsSecondFactor: boolean;
  /**
   * True: OpenID Connect began it. The provider asks for further factors, and Carillon does not.
   */
  readonly isByOidc: boolean;
  readonly role: Role;
}

/** Whether the organisation asks for a second factor that this session lacks. */
export function lacksSecondFactor({
  needsSecondFactor,
  hasSecondFactor,
  isByOidc,
}: Pick<Session, 'needsSecondFactor' | 'hasSecondFactor' | 'isByOidc'>): boolean {
  return needsSecondFactor && !hasSecondFactor && !isByOidc;
}

/** Mints the secret of a session or of a link that works once. */
export function mintSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** The form in which the database keeps a secret of `mintSecret`. */
export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret, 'utf8').digest();
}
