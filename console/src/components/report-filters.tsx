// The filters of every report, as the address has them, and the ways to hand the view on.
import { Button, CopyButton, Group, Select, TextInput } from '@mantine/core';
import { IconCheck, IconLink, IconPrinter } from '@tabler/icons-react';
import { type ReactNode, useEffect, useRef, useState } from 'react';
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
        <DayField label="From" value={firstDay} max={lastDay} onChange={(from) => change({ from, to: lastDay })} />
        <DayField label="To" value={lastDay} min={firstDay} onChange={(to) => change({ from: firstDay, to })} />
        <Select
          label="Group by"
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
          label="Time zone"
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

/** A pause after which a day that is typed digit by digit is complete: a guess. */
const typingPauseMs = 700;

interface DayFieldProps {
  readonly label: string;
  readonly value: string;
  readonly min?: string;
  readonly max?: string;
  readonly onChange: (day: string) => void;
}

/**
 * A day. While it is typed it holds days that nobody means, such as those of the year 2, so the
 * report hears of it after a pause, or when the person goes on.
 */
function DayField({ label, value, min = '', max = '', onChange }: DayFieldProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  /** A key is down, so a change is of that key. */
  const isKey = useRef(false);
  useEffect(() => () => clearTimeout(timer.current), []);
  const isMeant = (day: string): boolean => day >= min && (max === '' || day <= max) && day > '2000';
  const take = (day: string | null) => {
    clearTimeout(timer.current);
    if (day === null || !isMeant(day)) return;
    setTyped(null);
    if (day !== value) onChange(day);
  };
  return (
    <TextInput
      type="date"
      label={label}
      w={132}
      value={typed ?? value}
      {...(min !== '' && { min })}
      {...(max !== '' && { max })}
      onChange={({ currentTarget: { value: day } }) => {
        setTyped(day);
        // A day of the browser's calendar is meant at once.
        if (!isKey.current) return take(day);
        isKey.current = false;
        clearTimeout(timer.current);
        timer.current = setTimeout(() => take(day), typingPauseMs);
      }}
      onKeyDown={({ key }) => {
        isKey.current = key !== 'Enter';
        if (key === 'Enter') take(typed);
      }}
      onKeyUp={() => {
        isKey.current = false;
      }}
      onBlur={() => {
        take(typed);
        // A day outside of the range is not taken, and the field shows the one that holds.
        setTyped(null);
      }}
    />
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
