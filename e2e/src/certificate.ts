// The certificate of the stand-ins. It is self-signed and committed, so only the programs of a test
// may trust it.

import { createHash, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface TestCertificate {
  certPath: string;
  cert: Buffer;
  key: Buffer;
  /**
   * SHA-256 of the public key in base64, for Chromium's `--ignore-certificate-errors-spki-list`.
   */
  spkiHash: string;
}

export function loadCertificate(): TestCertificate {
  const certPath = fileURLToPath(new URL('../fixtures/push-services.pem', import.meta.url));
  const cert = readFileSync(certPath);
  const spki = new X509Certificate(cert).publicKey.export({ type: 'spki', format: 'der' });
  return {
    certPath,
    cert,
    key: readFileSync(new URL('../fixtures/push-services-key.pem', import.meta.url)),
    spkiHash: createHash('sha256').update(spki).digest('base64'),
  };
}
