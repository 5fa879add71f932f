// From what went wrong to what a person reads and can do about it. Pure: no page, no network.
// A piece of text between backticks is shown as code.
import {
  ApiError,
  InsecureContextError,
  NetworkError,
  PermissionDeniedError,
  PushServiceError,
  ServiceWorkerError,
  StorageError,
  UnsupportedBrowserError,
  WebPushNotConfiguredError,
} from './carillon.js';

/**
 * @typedef {object} Explanation
 * @property {string} title one sentence: what is the matter
 * @property {string[]} steps what to do, in paragraphs
 * @property {'allow' | 'again' | 'key' | 'none'} next the control that helps
 */

/** @type {(title: string, next: Explanation['next'], ...steps: string[]) => Explanation} */
const explanation = (title, next, ...steps) => ({ title, steps, next });

/**
 * @param {unknown} error
 * @param {string} origin where this page came from
 * @returns {Explanation}
 */
export function explain(error, origin) {
  if (error instanceof InsecureContextError) {
    return explanation(
      'Browsers allow push only over https, or on the machine itself.',
      'none',
      `This page came from \`${origin}\`. Open it as \`http://localhost\` on the machine that runs Carillon, or put https before it and set \`PUBLIC_URL\`.`,
    );
  }
  if (error instanceof UnsupportedBrowserError) {
    return error.needsHomeScreen
      ? explanation(
          'On iPhone and iPad, push works from the Home Screen.',
          'none',
          'Share this page, choose Add to Home Screen, open Carillon from there, and paste the client key.',
        )
      : explanation(
          'This browser has no web push.',
          'none',
          'Current versions of Chrome, Edge, Firefox and Safari have it, but not in their private windows.',
        );
  }
  if (error instanceof PermissionDeniedError) return explainPermission(error.permission);
  if (error instanceof WebPushNotConfiguredError) {
    return explanation(
      'Web push is not set up for this app yet.',
      'again',
      'On the server: `./carillon channel set Demo webpush`. It makes the keys that browsers subscribe with.',
    );
  }
  if (error instanceof NetworkError) {
    return explanation(
      'The service does not answer.',
      'again',
      `Is Carillon still running at \`${origin}\`? Nothing was lost; try again when it is back.`,
    );
  }
  if (error instanceof PushServiceError) {
    return explanation(
      "The browser's push service did not take part.",
      'again',
      `It said: ${error.message}`,
      'A browser reaches its maker for every push: check the internet connection, VPN and firewall. In Brave, turn on “Use Google services for push messaging”.',
    );
  }
  if (error instanceof ServiceWorkerError) {
    return explanation('The service worker could not be installed.', 'again', error.message);
  }
  if (error instanceof StorageError) {
    return explanation(
      'This browser keeps nothing for this site.',
      'again',
      'Allow site data (cookies and storage) for this site, then try again.',
    );
  }
  if (error instanceof ApiError) return explainAnswer(error);
  return explanation('Something unexpected happened.', 'again', String(error));
}

/** @type {(permission: NotificationPermission) => Explanation} */
export function explainPermission(permission) {
  return permission === 'denied'
    ? explanation(
        'Notifications are blocked for this site.',
        'again',
        'A page cannot ask twice; only you can undo it. Open the site settings with the icon left of the address, and set Notifications to Allow. In Safari: Settings, Websites, Notifications.',
        'If the site is allowed already, look whether the operating system blocks notifications of this browser.',
      )
    : explanation('The question was closed without an answer.', 'allow', 'Press the button to be asked again.');
}

/** @type {(error: ApiError) => Explanation} */
function explainAnswer(error) {
  const quote = error.requestId ? `Request \`${error.requestId}\`, for the people who read the log.` : '';
  if (error.status === 401) {
    return explanation(
      'The service does not accept this client key.',
      'key',
      'It may have been revoked, or be of another Carillon. Paste the current one; `./carillon key list Demo` shows which are in use.',
    );
  }
  if (error.error === 'app_suspended') {
    return explanation('This app is suspended.', 'again', 'On the server: `./carillon app resume Demo`.');
  }
  const issues = error.issues.map((issue) => issue.message);
  return explanation('The service refused.', 'again', error.message, ...issues, ...(quote ? [quote] : []));
}
