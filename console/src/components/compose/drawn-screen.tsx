// A notification as one screen draws it. Text stays text, and pictures are named instead of loaded:
// the console asks no other site for anything.
import { IconPhoto } from '@tabler/icons-react';
import type { RenderedMessage } from '../../api/objects.ts';
import { Bell } from '../../ui/bell.tsx';

type View = RenderedMessage['screens'][number];

export const screenTitles: Readonly<Record<View['screen'], string>> = {
  iphone_lock_screen: 'iPhone',
  android_shade: 'Android',
  chrome_windows: 'Chrome on Windows',
  chrome_macos: 'Chrome on macOS',
  firefox: 'Firefox',
};

/**
 * A browser shows the site's name. The message usually opens a page of the same site, so its host
 * is taken.
 */
const siteOf = (url: string | null): string =>
  url !== null && /^https?:/i.test(url) && URL.canParse(url) ? new URL(url).host : window.location.host;

/** The words around the notification, as the platform writes them. */
const sourceOf = (screen: View['screen'], appName: string, url: string | null): string =>
  screen === 'chrome_windows'
    ? `Google Chrome · ${siteOf(url)}`
    : screen === 'chrome_macos' || screen === 'firefox'
      ? siteOf(url)
      : appName;

interface DrawnScreenProps {
  readonly view: View;
  readonly appName: string;
  readonly url: string | null;
  readonly warning: string | null;
}

export function DrawnScreen({ view, appName, url, warning }: DrawnScreenProps) {
  const { screen, title, subtitle, body, image, actions } = view;
  const isCut = [title, subtitle, body, ...actions].some((text) => text !== null && text.length > text.limit);
  return (
    <figure className="screen" aria-label={`${screenTitles[screen]} preview`}>
      <figcaption className="screen-name">
        {screenTitles[screen]}
        {isCut && <span className="muted"> · cut</span>}
      </figcaption>
      <div className={`drawn drawn-${screen}`}>
        {screen === 'iphone_lock_screen' && (
          <div className="drawn-clock" aria-hidden="true">
            9:41
          </div>
        )}
        <div className="drawn-card">
          <span className="drawn-icon" aria-hidden="true">
            <Bell />
          </span>
          <div className="drawn-text">
            {screen !== 'iphone_lock_screen' && <span className="drawn-source">{sourceOf(screen, appName, url)}</span>}
            {title !== null && <strong className="drawn-title">{title.shown}</strong>}
            {subtitle !== null && <span className="drawn-subtitle">{subtitle.shown}</span>}
            {body !== null && <p className="drawn-body">{body.shown}</p>}
            {image !== null && (
              <span className="drawn-image">
                <IconPhoto size={16} aria-hidden /> <span className="cell">{image}</span>
              </span>
            )}
            {actions.length > 0 && (
              <span className="drawn-actions">
                {actions.map((action, place) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: two actions may have one text, and their order is their name
                  <span key={place} className="drawn-action">
                    {action.shown}
                  </span>
                ))}
              </span>
            )}
          </div>
        </div>
      </div>
      {warning !== null && <p className="tone-bad screen-note">{warning}</p>}
      {url !== null && (
        <p className="muted screen-note">
          Opens <span className="mono">{url}</span>
        </p>
      )}
    </figure>
  );
}
