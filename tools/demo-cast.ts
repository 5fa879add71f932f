// The cast of the demo: twelve simulated browsers of three vendors, their people, and the text that
// each must read. The expected texts are written by hand, so that the demo proves the rendering
// instead of repeating it.

export type Vendor = 'fcm' | 'mozilla' | 'apple';

export const vendors: readonly Vendor[] = ['fcm', 'mozilla', 'apple'];

export const browserNames: Readonly<Record<Vendor, string>> = { fcm: 'Chrome', mozilla: 'Firefox', apple: 'Safari' };

export interface CastMember {
  readonly vendor: Vendor;
  readonly locale: string;
  readonly timezone: string;
  /** Null: nobody has logged in here. */
  readonly user: {
    readonly externalId: string;
    readonly firstName: string;
    readonly country: string;
    readonly language: string;
    readonly book: string;
  } | null;
  readonly title: string;
  readonly body: string;
}

export const appName = 'Harbour Books';

/** One message for everybody: personalized, and in four languages. */
export const content = {
  title: "{{first_name | default: 'Dear reader'}}, your book is here",
  body: '“{{properties.book}}” waits for you at the counter.',
  url: 'https://harbour-books.example/orders',
  locales: {
    de: {
      title: "{{first_name | default: 'Guten Tag'}}, dein Buch ist da",
      body: "„{{properties.book | default: 'Deine Bestellung'}}“ liegt an der Theke.",
    },
    fr: { title: '{{first_name}}, votre livre est arrivé', body: '« {{properties.book}} » vous attend au comptoir.' },
    ja: { title: '{{first_name}}さん、本が届きました', body: '「{{properties.book}}」をお渡しします。' },
  },
};

type Place = readonly [locale: string, timezone: string];
const london: Place = ['en-GB', 'Europe/London'];
const newYork: Place = ['en-US', 'America/New_York'];
const berlin: Place = ['de-DE', 'Europe/Berlin'];
const vienna: Place = ['de-AT', 'Europe/Vienna'];
const paris: Place = ['fr-FR', 'Europe/Paris'];
const tokyo: Place = ['ja-JP', 'Asia/Tokyo'];
const saoPaulo: Place = ['pt-BR', 'America/Sao_Paulo'];

const quoted: Readonly<Record<string, (name: string, book: string) => readonly [title: string, body: string]>> = {
  de: (name, book) => [`${name}, dein Buch ist da`, `„${book}“ liegt an der Theke.`],
  fr: (name, book) => [`${name}, votre livre est arrivé`, `« ${book} » vous attend au comptoir.`],
  ja: (name, book) => [`${name}さん、本が届きました`, `「${book}」をお渡しします。`],
  // Languages without a text of their own read the first one.
  en: (name, book) => [`${name}, your book is here`, `“${book}” waits for you at the counter.`],
  pt: (name, book) => [`${name}, your book is here`, `“${book}” waits for you at the counter.`],
};

function member(vendor: Vendor, [locale, timezone]: Place, firstName: string, book: string): CastMember {
  const [language = '', country = ''] = locale.split('-');
  const [title = '', body = ''] = quoted[language]?.(firstName, book) ?? [];
  const externalId = `reader-${Buffer.from(firstName).toString('hex').slice(0, 8)}`;
  return { vendor, locale, timezone, user: { externalId, firstName, country, language, book }, title, body };
}

export const ada = member('fcm', london, 'Ada', 'The Waves');
export const liam = member('fcm', newYork, 'Liam', 'Moby-Dick');
export const juergen = member('fcm', berlin, 'Jürgen', 'Der Zauberberg');
export const noor = member('mozilla', london, 'Noor', 'Middlemarch');
export const francois = member('apple', paris, 'François', 'L’Étranger');

export const cast: readonly CastMember[] = [
  ada,
  liam,
  juergen,
  member('fcm', paris, 'Chloé', 'Bonjour tristesse'),
  {
    vendor: 'fcm',
    locale: vienna[0],
    timezone: vienna[1],
    user: null,
    title: 'Guten Tag, dein Buch ist da',
    body: '„Deine Bestellung“ liegt an der Theke.',
  },
  noor,
  member('mozilla', vienna, 'Zoë', 'Malina'),
  member('mozilla', tokyo, '葵', '雪国'),
  member('mozilla', saoPaulo, 'Thaís', 'Dom Casmurro'),
  member('apple', newYork, 'Emma', 'Beloved'),
  francois,
  member('apple', tokyo, '陽菜', '吾輩は猫である'),
];

/** The person and the browser, as people would say it. */
export function nameOf({ user, vendor }: CastMember): string {
  return user ? `${user.firstName}’s ${browserNames[vendor]}` : `a ${browserNames[vendor]} without a login`;
}
