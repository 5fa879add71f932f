import { describe, expect, test } from 'vitest';
import { refusedUrls } from '../../../test/fixtures/refused-urls.ts';
import { noExceptions, parseOutboundExceptions } from './address-guard.ts';
import { judgeUrl, originOfUrl, type UrlRules } from './url.ts';

const rules: UrlRules = { ports: [443], exceptions: noExceptions, ownHosts: ['push.example.com'] };
const verdict = (text: string, changed: Partial<UrlRules> = {}) => {
  const judged = judgeUrl(text, { ...rules, ...changed });
  return 'url' in judged ? 'accepted' : judged.code;
};

describe('R-30 a URL that leads nowhere public is refused', () => {
  test.each(refusedUrls)('%j', (text) => {
    expect(verdict(text)).not.toBe('accepted');
  });

  test('the service itself, by its public name', () => {
    expect(verdict('https://push.example.com/hook')).toBe('host_not_allowed');
  });
});

test.each([
  ['https://shop.example:9000/hook', /^Port 9000 is not accepted: use 443 or 8443; .*OUTBOUND_ALLOW_PORTS/],
  ['https://127.0.0.1/hook', /^An address is not accepted.*OUTBOUND_ALLOW_CIDRS/],
  ['https://hooks.internal/', /^'hooks\.internal' is not a public host name.*OUTBOUND_ALLOW_CIDRS/],
])('a refusal that a setting could lift names the setting: %s', (text, words) => {
  expect(judgeUrl(text, { ...rules, ports: [443, 8443] })).toMatchObject({ message: expect.stringMatching(words) });
});

describe('an accepted URL', () => {
  test.each([
    'https://example.com/hook',
    'HTTPS://EXAMPLE.COM/hook?a=1',
    'https://sub.domain.example.com:443/',
    'https://xn--bcher-kva.example/',
    'https://bücher.example/',
    `https://${'a'.repeat(63)}.example.com/`,
    'https://localhost.example.com/',
    'https://my.local.example/',
  ])('%s', (text) => {
    expect(verdict(text)).toBe('accepted');
  });

  test('a URL of 2,048 characters and a host of 253, and one more of neither', () => {
    const start = 'https://example.com/';
    expect(verdict(start + 'a'.repeat(2_048 - start.length))).toBe('accepted');
    expect(verdict(start + 'a'.repeat(2_049 - start.length))).toBe('too_big');
    const host = `${'a'.repeat(49)}.${`${'b'.repeat(50)}.`.repeat(4)}`.slice(0, -1);
    expect(host).toHaveLength(253);
    expect(verdict(`https://${host}/`)).toBe('accepted');
    expect(verdict(`https://a${host}/`)).toBe('invalid_format');
  });

  test('host and port come as a socket needs them', () => {
    const exceptions = parseOutboundExceptions({ allowCidrs: ['::1/128'], allowPorts: '8000-8100' });
    expect(judgeUrl('https://[::1]:8080/x', { ...rules, exceptions })).toMatchObject({ host: '::1', port: 8080 });
    expect(judgeUrl('https://example.com/x', rules)).toMatchObject({ host: 'example.com', port: 443 });
  });

  test('of the operator’s own URLs too', () => {
    expect(originOfUrl('https://api.push.apple.com')).toEqual({ host: 'api.push.apple.com', port: 443 });
    expect(originOfUrl('https://[::1]:8444/x')).toEqual({ host: '::1', port: 8444 });
  });

  test('a further port where the caller of the rule has it: 8443 for a webhook, not for a web push endpoint', () => {
    expect(verdict('https://example.com:8443/')).toBe('invalid_value');
    expect(verdict('https://example.com:8443/', { ports: [443, 8443] })).toBe('accepted');
  });
});

describe('the word that names the fault', () => {
  test.each([
    [`https://example.com/${'a'.repeat(2_048)}`, 'too_big'],
    ['http://example.com/', 'invalid_format'],
    [' https://example.com/', 'invalid_format'],
    ['https://user:pass@example.com/', 'invalid_value'],
    ['https://example.com/#', 'invalid_value'],
    ['https://example.com:22/', 'invalid_value'],
    ['https://example..com/', 'invalid_format'],
    ['https://1.1.1.1/', 'host_not_allowed'],
    ['https://printer/', 'host_not_allowed'],
  ])('%s is %s', (text, code) => {
    expect(verdict(text)).toBe(code);
  });
});

describe('a URL that the operator exempts', () => {
  const exceptions = parseOutboundExceptions({
    allowCidrs: ['127.0.0.0/8'],
    allowPorts: '9443',
    resolve: 'push.invalid:443=127.0.0.1:9999',
  });

  test.each([
    ['https://127.0.0.1/', 'accepted'],
    ['https://2130706433/', 'accepted'],
    ['https://localhost/', 'accepted'],
    ['https://hooks.corp/', 'accepted'],
    ['https://push.invalid/', 'accepted'],
    ['https://localhost:9443/', 'accepted'],
    ['https://10.0.0.1/', 'host_not_allowed'],
    ['https://169.254.169.254/', 'host_not_allowed'],
    ['https://[::1]/', 'host_not_allowed'],
    ['https://localhost:9444/', 'invalid_value'],
    ['http://localhost/', 'invalid_format'],
    ['https://user@localhost/', 'invalid_value'],
  ])('%s is %s', (text, expected) => {
    expect(verdict(text, { exceptions })).toBe(expected);
  });
});
