import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { describeUnsafeWay, readAddress } from './address.ts';

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

describe('an address of a database', () => {
  it.each([
    ['postgres://u@a:5433,b/d', ['a:5433', 'b:5432']],
    ['postgres://u@a,b:5433/d', ['a:5432', 'b:5433']],
    ['postgres://u@a:5433/d', ['a:5433']],
    ['postgres://u@[::1]/d', ['::1:5432']],
    ['postgres://u@localhost:5433/d?host=/run/postgresql', ['/run/postgresql:5433']],
    ['postgres://u@localhost:5433/d?host=/data,%20here', ['/data, here:5433']],
  ])('gives each host its own port: %s', (url, hosts) => {
    expect(readAddress(url).hosts.map(({ host, port }) => `${host}:${port}`)).toEqual(hosts);
  });

  it.each([
    ['ssl=require', 'require'],
    ['ssl=true', 'verify-full'],
    ['sslmode=verify-ca', 'verify-ca'],
    ['sslrootcert=system', 'verify-full'],
  ])('asks for TLS by %s', (parameter, tls) => {
    expect(readAddress(`postgres://u@a/d?${parameter}`).tls).toBe(tls);
  });

  it.each([
    ['PGSSLMODE', 'no-verify', 'sslmode=no-verify'],
    ['PGREPLICATION', 'database', 'replication'],
  ])('is refused where the environment asks for something that Carillon cannot do: %s=%s', (variable, value, what) => {
    vi.stubEnv(variable, value);
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(() => readAddress('postgres://u@a/d')).toThrow(`${variable}: this program cannot follow ${what}.`);
  });

  it('keeps settings of the session, and no parameter of libpq', () => {
    const url =
      'postgres://u@a/d?search_path=bells&connect_timeout=3&target_session_attrs=read-write&application_name=x';
    expect(readAddress(url)).toMatchObject({ settings: { search_path: 'bells' }, connectMs: 3000 });
  });

  it.each([
    'sslmode=no-verify',
    'ssl=maybe',
    'sslcert=/client.crt',
    'sslrootcert=/ca.crt',
    'sslnegotiation=direct',
    'target_session_attrs=standby',
    'channel_binding=require',
    'passfile=/pass',
    'service=carillon',
  ])('is refused by name, without a password, where Carillon cannot do what it asks for: %s', (parameter) => {
    const read = () => readAddress(`postgres://u:pass-word@a/d?${parameter}`);
    expect(read).toThrow(new RegExp(`DATABASE_URL: .*${parameter.split('=')[0]}`));
    expect(read).not.toThrow(/pass-word/);
  });
});
