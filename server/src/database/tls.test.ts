import { describe, expect, it } from 'vitest';
import { describeUnsafeWay } from './db.ts';

describe('the way to the database', () => {
  it.each([
    'postgres://u:p@localhost/d',
    'postgres://u:p@127.0.0.1:5433/d',
    'postgres://carillon@localhost:5432/carillon?host=/run/postgresql',
    'postgres://u:p@db.example/d?sslmode=verify-full',
    'postgres://u:p@db.example/d?sslmode=verify-ca',
    'postgres://u:p@db.example/d?sslrootcert=system',
    'postgres://u:p@db-1.example,db-2.example/d?sslmode=verify-full',
  ])('is safe on this machine, and to a server that is verified: %s', (url) => {
    expect(describeUnsafeWay(url)).toBeUndefined();
  });

  it.each([
    'postgres://u:pass-word@db.example/d',
    'postgres://u:pass-word@10.0.0.7/d',
    'postgres://u:pass-word@db.example/d?sslmode=disable',
    'postgres://u:pass-word@db.example/d?sslmode=prefer',
    'postgres://u:pass-word@localhost,db.example/d',
  ])('may be without TLS: %s', (url) => {
    expect(describeUnsafeWay(url)).toMatch(/may be without TLS.*sslmode=verify-full/);
    expect(describeUnsafeWay(url)).not.toContain('pass-word');
  });

  it.each(['require', 'allow'])('is encrypted and not verified under sslmode=%s', (mode) => {
    const said = describeUnsafeWay(`postgres://u:pass-word@db.example/d?sslmode=${mode}`);
    expect(said).toMatch(/db\.example is encrypted, and the server is not verified/);
    expect(said).not.toContain('pass-word');
  });
});
