// Makes tokens for seeded devices without a sandbox: valid in form, known to no push service, and
// different for each device's seed. Pure and deterministic like the devices.
import { createECDH, hash } from 'node:crypto';
import { type DeviceToken, tokenOf } from '../../people/devices/token.ts';
import type { SeededDevice, Vendor } from './population.ts';

/**
 * Makes a token in the form into which a registration parses it. The text is not parsed again,
 * because that would cost more than making it.
 */
export function makeToken({ platform, vendor, tokenSeed }: SeededDevice): DeviceToken {
  if (platform === 'ios') {
    const text = tokenSeed.toString('hex');
    return tokenOf(text, text);
  }
  const name = tokenSeed.toString('base64url');
  const more = (purpose: string): Buffer =>
    hash('sha512', Buffer.concat([tokenSeed, Buffer.from(purpose, 'latin1')]), 'buffer');
  if (platform === 'android') {
    const long = Buffer.concat([more('1'), more('2')]);
    const text = `${name.slice(0, 22)}:APA91b${long.toString('base64url').slice(0, 134)}`;
    return tokenOf(text, text);
  }
  const endpoint = endpointOf[vendor ?? 'fcm'](name);
  const keys = { p256dh: publicKeyOf(tokenSeed), auth: more('auth').toString('base64url', 0, 16) };
  return tokenOf(JSON.stringify({ endpoint, keys }), endpoint);
}

// Each address is written as a URL parser writes it.
const endpointOf: Readonly<Record<Vendor, (name: string) => string>> = {
  fcm: (name) => `https://fcm.googleapis.com/fcm/send/${name}`,
  mozilla: (name) => `https://updates.push.services.mozilla.com/wpush/v2/${name}`,
  apple: (name) => `https://web.push.apple.com/${name}`,
  wns: (name) => `https://wns2-db5p.notify.windows.com/w/?token=${name}`,
};

// Seeded browsers share these public keys, because making a point on the curve takes longer than
// the rest of a device. It does no harm, because no message to them is decrypted.
const publicKeysCount = 1_024;
const publicKeys = new Map<number, string>();

function publicKeyOf(seed: Buffer): string {
  const number = seed.readUInt16BE(0) % publicKeysCount;
  let key = publicKeys.get(number);
  if (key === undefined) {
    const curve = createECDH('prime256v1');
    curve.setPrivateKey(hash('sha256', `carillon seed key ${number}`, 'buffer'));
    key = curve.getPublicKey('base64url');
    publicKeys.set(number, key);
  }
  return key;
}
