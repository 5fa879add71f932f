// The filters of every report, as the address has them, and buttons that share or print the view.
import { Button, CopyButton, Group, Select, TextInput } from '@mantine/core';
import { IconCheck, IconLink, IconPrinter } from '@tabler/icons-react';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useHref } from 'react-router';
import { zonesWith } from '../format.ts';
import { formatDayOf } from './report-text.ts';
import { addDays, dayIn, daysOf, presets, searchOfView, useReportView } from './report-view.ts';

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
          data={zonesWith(zone)}
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
 * The field of a day. While it is typed it contains unintended days, such as in the year 2. So the
 * report gets the day after a pause, or when the person leaves the field.
 */
function DayField({ label, value, min = '', max = '', onChange }: DayFieldProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  /** A key is down, so a change comes from the keyboard. */
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
        // A day from the browser's calendar applies at once.
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
        // A day outside of the range is not accepted, and the field shows the present one again.
        setTyped(null);
      }}
    />
  );
}

/** Shares the view: as a link that shows the same view tomorrow, and on paper. */
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
