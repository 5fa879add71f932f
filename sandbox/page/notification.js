// Draws a notification as its platform does: what is shown, what is cut off, and what the platform
// leaves out. The drawing has real buttons, so that a person can click, choose an action or
// dismiss.
import { h, icon, picture } from './dom.js';

/** The name of each look, its browser, and what that platform cannot show. */
export const looks = {
  windows: { title: 'Chrome on Windows', app: 'Google Chrome', hasImage: true, hasActions: true },
  edge: { title: 'Edge on Windows', app: 'Microsoft Edge', hasImage: true, hasActions: true },
  macos: { title: 'Chrome on macOS', app: 'Google Chrome', hasImage: true, hasActions: true },
  firefox: { title: 'Firefox', app: 'Firefox', hasImage: false, hasActions: true },
  iphone: { title: 'Safari on iPhone', app: 'Web app', hasImage: false, hasActions: false },
  ios: { title: 'iPhone lock screen', app: 'App', hasImage: true, hasActions: false },
  android: { title: 'Android notification shade', app: 'App', hasImage: true, hasActions: false },
  plain: { title: 'A browser', app: 'Browser', hasImage: true, hasActions: true },
};

const lookOfVendor = { fcm: 'windows', mozilla: 'firefox', apple: 'iphone', wns: 'edge', generic: 'plain' };
const lookOfPhone = { apns: 'ios', fcm_v1: 'android' };

/** Vendors whose pushes end in a browser, with their names. */
export const browsers = {
  generic: 'RFC 8030',
  fcm: 'Chrome (FCM)',
  mozilla: 'Firefox (Mozilla)',
  apple: 'Safari (Apple)',
  wns: 'Edge (WNS)',
};

export const vendors = {
  ...browsers,
  apns: 'iPhone (APNs)',
  fcm_v1: 'Android (FCM v1)',
  google_oauth: 'Google’s token endpoint',
};

/** The look of an entry. Phones always have their own look; the choice applies only to browsers. */
export function lookOf(vendor, chosen) {
  if (lookOfPhone[vendor] !== undefined) return lookOfPhone[vendor];
  return chosen === 'auto' ? lookOfVendor[vendor] : chosen;
}

/** An app name for a phone: the last word of its bundle id or project. */
function appOf({ phone }, look) {
  const last = phone?.app?.split(/[.-]/).at(-1) ?? '';
  return last === '' ? look.app : `${last.charAt(0).toUpperCase()}${last.slice(1)}`;
}

/**
 * The site that the notification seems to come from: the host of the click's address, because a
 * push service knows no other.
 */
function siteOf(notification) {
  return URL.canParse(notification.url ?? '') ? new URL(notification.url).host : 'your site';
}

/**
 * Draws a notification. `act(event, action)` is called when the person acts; without `act` the
 * drawing is only looked at.
 */
export function drawNotification(notification, lookName, act) {
  const look = looks[lookName];
  const { phone } = notification;
  const site = siteOf(notification);
  const app = phone === null ? look.app : appOf(notification, look);
  const title = notification.title === '' ? (phone === null ? site : app) : notification.title;
  const isLive = act !== null;
  const text = [
    h('span', { class: 'n-title', dir: notification.dir, lang: notification.lang }, title),
    phone?.subtitle ? h('span', { class: 'n-subtitle', dir: 'auto' }, phone.subtitle) : null,
    notification.body === ''
      ? null
      : h('span', { class: 'n-body', dir: notification.dir, lang: notification.lang }, notification.body),
    phone === null ? h('span', { class: 'n-site' }, lookName === 'firefox' ? `via ${site}` : site) : null,
  ];
  const main = isLive
    ? h(
        'button',
        {
          type: 'button',
          class: 'n-main',
          'aria-label': `Click the notification “${title}”`,
          onclick: () => act('clicked', null),
        },
        pictureOf(notification),
        h('span', { class: 'n-text' }, text),
      )
    : h('div', { class: 'n-main' }, pictureOf(notification), h('span', { class: 'n-text' }, text));
  const actions = look.hasActions ? notification.actions.slice(0, 2) : [];
  const drawn = h(
    'div',
    { class: 'notification', 'data-look': lookName },
    look.hasImage ? picture(notification.image, 'n-image') : null,
    h(
      'div',
      { class: 'n-head' },
      icon('bell', 'icon n-app'),
      h('span', { class: 'n-name' }, app),
      phone?.count ? h('span', { class: 'n-count', title: 'The number on the app’s icon' }, phone.count) : null,
      h('span', { class: 'n-now' }, 'now'),
      isLive
        ? h(
            'button',
            {
              type: 'button',
              class: 'n-close',
              'aria-label': `Dismiss the notification “${title}”`,
              onclick: () => act('dismissed', null),
            },
            icon('x'),
          )
        : null,
    ),
    main,
    actions.length === 0
      ? null
      : h(
          'div',
          { class: 'n-actions' },
          actions.map((each) =>
            h(
              'button',
              { type: 'button', disabled: !isLive, onclick: isLive ? () => act('clicked', each.action) : null },
              each.title,
            ),
          ),
        ),
  );
  return phone === null ? drawn : drawPhone(drawn, lookName);
}

/** Draws the phone's screen around the notification, with hour and date. */
function drawPhone(notification, lookName) {
  const now = new Date();
  const hour = now.toLocaleTimeString(undefined, { hour: 'numeric', minute: '2-digit' });
  const date = now.toLocaleDateString(undefined, { weekday: 'long', day: 'numeric', month: 'long' });
  return h(
    'div',
    { class: 'phone', 'data-phone': lookName },
    h(
      'div',
      { class: 'phone-clock', 'aria-hidden': 'true' },
      h('span', { class: 'phone-hour' }, hour),
      h('span', { class: 'phone-date' }, date),
    ),
    notification,
  );
}

function pictureOf(notification) {
  const none = h('span', { class: 'n-icon n-icon-none', 'aria-hidden': 'true' }, icon('bell'));
  return picture(notification.icon, 'n-icon', none);
}

/** A sentence about what this platform does not show; null when it shows everything. */
export function leftOut(notification, lookName) {
  const look = looks[lookName];
  const missing = [
    notification.image !== null && !look.hasImage ? 'the image' : null,
    notification.actions.length > 0 && !look.hasActions ? 'the buttons' : null,
    look.hasActions && notification.actions.length > 2 ? 'a third button' : null,
  ].filter((each) => each !== null);
  return missing.length === 0 ? null : `${look.title} does not show ${missing.join(' or ')}.`;
}
