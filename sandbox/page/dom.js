// The only way onto the page: elements made one by one, and text that stays text. A sender's text
// is never parsed as markup, and a sender's address is used only when it is a web address.

const svgNamespace = 'http://www.w3.org/2000/svg';

/**
 * An element with attributes, listeners (`onclick` and so on) and children. Null children are
 * skipped.
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  append(element, children);
  return element;
}

export function append(element, children) {
  for (const child of children.flat(Number.POSITIVE_INFINITY)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** Replaces the children of an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

export function icon(name, className = 'icon') {
  const svg = document.createElementNS(svgNamespace, 'svg');
  svg.setAttribute('class', className);
  svg.setAttribute('aria-hidden', 'true');
  const use = document.createElementNS(svgNamespace, 'use');
  use.setAttribute('href', `#icon-${name}`);
  svg.append(use);
  return svg;
}

/** The address as it may stand in href, or null. Only http and https are allowed. */
export function webAddress(text) {
  if (typeof text !== 'string' || !URL.canParse(text)) return null;
  const { protocol, href } = new URL(text);
  return protocol === 'https:' || protocol === 'http:' ? href : null;
}

/** The address of a picture, or null. A picture may also be a data: address. */
function pictureAddress(text) {
  return typeof text === 'string' && /^data:image\/(png|jpeg|gif|webp);base64,/.test(text) ? text : webAddress(text);
}

/**
 * A sender's picture, or `otherwise` when there is none or it does not load. The sender does not
 * learn who looked at it.
 */
export function picture(address, className, otherwise = null) {
  const source = pictureAddress(address);
  if (source === null) return otherwise;
  const image = h('img', { class: className, alt: '', referrerpolicy: 'no-referrer' });
  image.addEventListener('error', () => (otherwise === null ? image.remove() : image.replaceWith(otherwise)));
  image.src = source;
  return image;
}

/** A button that copies a text and says so. */
export function copyButton(text, what) {
  const label = h('span', {}, 'Copy');
  const button = h(
    'button',
    { type: 'button', class: 'quiet copy', 'aria-label': `Copy ${what}` },
    icon('copy'),
    label,
  );
  button.addEventListener('click', async () => {
    let isCopied = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      isCopied = false;
    }
    label.textContent = isCopied ? 'Copied' : 'Not allowed';
    setTimeout(() => {
      label.textContent = 'Copy';
    }, 1500);
  });
  return button;
}

/** A text to copy, in a box of its own. */
export function code(text, what) {
  return h(
    'div',
    { class: 'code' },
    h('pre', { tabindex: '0', 'aria-label': what }, h('code', {}, text)),
    copyButton(text, what),
  );
}

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'narrow' });

/**
 * The time since an instant, with the exact instant on hover. `refreshTimes` keeps all of them
 * current.
 */
export function time(iso) {
  const exact = new Date(iso).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long' });
  return h('time', { datetime: iso, title: exact }, ago(iso));
}

export function refreshTimes() {
  for (const element of document.querySelectorAll('time[datetime]')) {
    element.textContent = ago(element.getAttribute('datetime'));
  }
}

function ago(iso) {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(iso)) / 1000));
  if (seconds < 5) return 'just now';
  if (seconds < 60) return relative.format(-seconds, 'second');
  if (seconds < 3600) return relative.format(-Math.floor(seconds / 60), 'minute');
  if (seconds < 86_400) return relative.format(-Math.floor(seconds / 3600), 'hour');
  return new Date(iso).toLocaleDateString(undefined, { dateStyle: 'medium' });
}

/** Requests JSON from the control port. Throws with the port's own words. */
export async function api(method, path, body) {
  const response = await fetch(path, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  const text = await response.text();
  const value = text === '' ? null : JSON.parse(text);
  if (!response.ok) throw new Error(value?.error ?? `answered ${response.status}`);
  return value;
}
