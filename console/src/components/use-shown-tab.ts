// On a phone the tabs of a page scroll sideways. The tab of the open page must not stay out of
// sight.
import { useEffect, useRef } from 'react';
import { useLocation } from 'react-router';

/** For a row of tabs: scrolls the active one into sight whenever another page is opened. */
export function useShownTab() {
  const place = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: each page has another active tab
  useEffect(() => {
    const tabs = place.current;
    const active = tabs?.querySelector('.tab.active');
    if (!tabs || !active) return;
    const margin = 48;
    tabs.scrollLeft += active.getBoundingClientRect().left - tabs.getBoundingClientRect().left - margin;
  }, [pathname]);
  return place;
}
