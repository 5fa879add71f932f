// The filters of every report, as the address has them, and the ways to hand the view on.
import { Button, CopyButton, Group, Select, TextInput } from '@mantine/core';
import { IconCheck, IconLink, IconPrinter } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { useHref } from 'react-router';
import { formatDayOf } from './report-text.ts';
import { addDays, dayIn, daysOf, presets, searchOfView, useReportView } from './report-view.ts';

const zones = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')];

export function ReportFilters({ children }: { children?: ReactNode }) {
  const { view, change } = useReportView();
  const { firstDay, lastDay, zone, group } = view;
  const today = dayIn(zone, Date.now());
  return (
    <>
      <search className="card no-print report-filters">
        <fieldset className="presets">
          <legend>Range</legend>
          {presets.map((days) => {
            const isChosen = lastDay === today && daysOf(view) === days;
            return (
              <Button
                key={days}
                size="sm"
                px="sm"
                variant={isChosen ? 'light' : 'default'}
                aria-pressed={isChosen}
                onClick={() => change({ from: addDays(today, 1 - days), to: null })}
              >
                {days} days
              </Button>
            );
          })}
        </fieldset>
        <TextInput
          type="date"
          label="From"
          w={132}
          value={firstDay}
          max={lastDay}
          onChange={({ currentTarget }) => change({ from: currentTarget.value, to: lastDay })}
        />
        <TextInput
          type="date"
          label="To"
          w={132}
          value={lastDay}
          min={firstDay}
          onChange={({ currentTarget }) => change({ from: firstDay, to: currentTarget.value })}
        />
        <Select
          label="By"
          w={96}
          data={[
            { value: 'day', label: 'Day' },
            { value: 'week', label: 'Week' },
            { value: 'month', label: 'Month' },
          ]}
          value={group}
          onChange={(value) => change({ by: value })}
        />
        <Select
          label="Zone"
          w={144}
          searchable
          limit={40}
          data={zones.includes(zone) ? zones : [zone, ...zones]}
          value={zone}
          onChange={(value) => change({ tz: value })}
        />
        {children}
      </search>
      <p className="print-only">
        {formatDayOf(firstDay)} to {formatDayOf(lastDay)}, days of {zone}
      </p>
    </>
  );
}

/** Hands the view on: as a link that shows the same tomorrow, and on paper. */
export function HandOn() {
  const { view, search } = useReportView();
  const here = useHref(`?${searchOfView(search, view)}`);
  return (
    <Group gap={8} className="no-print">
      <CopyButton value={new URL(here, window.location.href).href}>
        {({ copied, copy }) => (
          <Button
            variant="default"
            onClick={copy}
            leftSection={copied ? <IconCheck size={16} aria-hidden /> : <IconLink size={16} aria-hidden />}
          >
            {copied ? 'Copied' : 'Copy link'}
          </Button>
        )}
      </CopyButton>
      <Button variant="default" onClick={() => window.print()} leftSection={<IconPrinter size={16} aria-hidden />}>
        Print
      </Button>
    </Group>
  );
}
