import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { defaultNames, loadOrMakeCertificate, makeCertificate } from './certificate.ts';

const now = new Date('2026-11-21T10:15:30Z');

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), 'sandbox-certificate-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

describe('a certificate made here', () => {
  test('is read by OpenSSL as a self-signed authority for every name it was asked for', () => {
    const { certificatePem, keyPem } = makeCertificate([...defaultNames, '::1', '2001:db8::7'], now);
    const certificate = new X509Certificate(certificatePem);
    expect(certificate.ca).toBe(true);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(certificate.checkIssued(certificate)).toBe(true);
    expect(certificate.checkPrivateKey(createPrivateKey(keyPem))).toBe(true);
    for (const name of defaultNames.filter((each) => each !== '127.0.0.1')) {
      expect(certificate.checkHost(name)).toBe(name);
    }
    for (const address of ['127.0.0.1', '::1', '2001:db8::7']) expect(certificate.checkIP(address)).toBe(address);
    expect(certificate.checkHost('push.example.com')).toBeUndefined();
    expect(certificate.checkIP('2001:db8::8')).toBeUndefined();
  });

  test('is valid from the day before for ten years, past 2049 too', () => {
    const near = new X509Certificate(makeCertificate(['localhost'], now).certificatePem);
    expect(new Date(near.validFrom)).toEqual(new Date('2026-11-20T10:15:30Z'));
    expect(new Date(near.validTo)).toEqual(new Date('2036-11-18T10:15:30Z'));
    const far = new X509Certificate(makeCertificate(['localhost'], new Date('2049-06-01T00:00:00Z')).certificatePem);
    expect(new Date(far.validTo)).toEqual(new Date('2059-05-30T00:00:00Z'));
  });

  test('has a serial number of its own each time', () => {
    const serial = (): string => new X509Certificate(makeCertificate(['localhost'], now).certificatePem).serialNumber;
    expect(serial()).not.toBe(serial());
  });
});

describe('the certificate on disk', () => {
  test('survives restarts, and only its owner can read its key', () => {
    const path = directory();
    const first = loadOrMakeCertificate(path, ['localhost'], now);
    expect(loadOrMakeCertificate(path, ['localhost'], now)).toEqual(first);
    expect(readFileSync(first.file, 'utf8')).toBe(first.certificatePem);
    expect(statSync(join(path, 'sandbox-key.pem')).mode & 0o777).toBe(0o600);
  });

  test.each([
    ['a name is missing', ['localhost', 'push.internal.example'], now],
    ['it is about to expire', ['localhost'], new Date('2036-11-01T00:00:00Z')],
  ])('is made again when %s', (_reason, names, at) => {
    const path = directory();
    const first = loadOrMakeCertificate(path, ['localhost'], now);
    expect(loadOrMakeCertificate(path, names, at).certificatePem).not.toBe(first.certificatePem);
  });
});
