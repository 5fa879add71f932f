// The certificate of test servers, for `localhost` and the hosts that they stand in for, and its
// key. It is self-signed, so clients trust it by its file and verify it.
import { fileURLToPath } from 'node:url';

const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));

export const certificateFile = fixture('cert.pem');
export const keyFile = fixture('key.pem');
/** A certificate for the same hosts and key that ended in 2020. */
export const expiredCertificateFile = fixture('expired-cert.pem');
