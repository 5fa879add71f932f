// The receiver's certificate for `localhost`, and its key. Every client verifies the certificate.
import { fileURLToPath } from 'node:url';

const fixture = (name: string) => fileURLToPath(new URL(`../../server/test/fixtures/${name}`, import.meta.url));

export const certificateFile = fixture('cert.pem');
export const keyFile = fixture('key.pem');
