// The panel for phones: makes a phone, and makes what a sender needs to reach it (an APNs key or a
// service account).
import { api, code, fill, h } from './dom.js';
import { labelled, options } from './panels.js';

const kinds = { ios: 'iPhone', 'ios sandbox': 'iPhone, debug build', android: 'Android' };

/** Makes one simulated phone or one credential, and shows how to use it. */
export function phonePanel(panel) {
  const kind = h('select', {}, options(kinds, 'ios'));
  const app = h('input', { type: 'text', spellcheck: 'false', autocomplete: 'off' });
  const appName = h('span', {}, '');
  const made = h('div', { class: 'made', 'aria-live': 'polite' });
  const isIos = () => kind.value !== 'android';
  const credentials = h('button', { type: 'button', onclick: () => attempt(makeCredentials) }, '');

  const name = () => {
    appName.textContent = isIos() ? 'Bundle id' : 'Firebase project';
    app.placeholder = isIos() ? 'com.example.shop' : 'sandbox-shop';
    credentials.textContent = isIos() ? 'Make an APNs key' : 'Make a service account';
  };
  kind.addEventListener('change', name);
  name();

  const attempt = async (make) => {
    try {
      fill(made, await make());
    } catch (error) {
      fill(made, h('p', { class: 'problem', role: 'alert' }, error.message));
    }
  };
  const makePhone = async () => {
    const chosen = app.value.trim();
    const { devices } = await api('POST', '/devices', {
      platform: isIos() ? 'ios' : 'android',
      ...(kind.value === 'ios sandbox' ? { environment: 'sandbox' } : {}),
      ...(chosen === '' ? {} : { [isIos() ? 'bundle_id' : 'project_id']: chosen }),
    });
    const device = { ...devices[0], ...(kind.value === 'ios sandbox' ? { environment: 'sandbox' } : {}) };
    return [
      h('p', { class: 'note' }, 'Register it as a device; a push to it appears here:'),
      code(JSON.stringify(device, null, 2), 'the body for POST /v1/devices'),
    ];
  };
  const makeCredentials = async () => {
    const chosen = app.value.trim();
    if (isIos()) {
      const key = await api('POST', '/apns/keys', {});
      return [
        h('p', { class: 'note' }, `Key id ${key.key_id}, team id ${key.team_id}. The .p8 is shown this once:`),
        code(key.p8.trim(), 'the .p8 key'),
      ];
    }
    const file = await api('POST', '/fcm/service-accounts', chosen === '' ? {} : { project_id: chosen });
    return [
      h('p', { class: 'note' }, 'The service account’s file, shown this once:'),
      code(JSON.stringify(file, null, 2), 'the service account'),
    ];
  };

  panel.append(
    h(
      'form',
      {
        onsubmit: (event) => {
          event.preventDefault();
          void attempt(makePhone);
        },
      },
      h('div', { class: 'pair' }, labelled('Kind', kind), h('label', { class: 'field' }, appName, app)),
      h('div', { class: 'pair' }, h('button', { type: 'submit', class: 'primary' }, 'Make a phone'), credentials),
    ),
    made,
  );
}
