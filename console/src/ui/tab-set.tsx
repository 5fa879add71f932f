import { Tabs } from '@mantine/core';
import type { ReactNode } from 'react';

interface TabSetProps {
  readonly tabs: readonly (readonly [name: string, panel: () => ReactNode])[];
  readonly gap?: 'sm' | 'md';
}

/** Parts of which one is seen at a time. A value is a place, because ids of panels take no space. */
export function TabSet({ tabs, gap = 'sm' }: TabSetProps) {
  return (
    <Tabs defaultValue="0" keepMounted={false}>
      <Tabs.List mb={gap}>
        {tabs.map(([name], place) => (
          <Tabs.Tab key={name} value={String(place)}>
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {tabs.map(([name, panel], place) => (
        <Tabs.Panel key={name} value={String(place)}>
          {panel()}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
