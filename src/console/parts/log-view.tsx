/** What a device or a rule says about itself, as it says it. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { momentText } from '../format.ts';
import { isConnected } from '../live.ts';
import { Button, Card, Empty, ErrorNotice, Select } from '../ui.tsx';
import type { LogEntry } from '../shapes.ts';

const SEVERITIES = ['debug', 'info', 'warning', 'error'] as const;
/** More would make a phone slow. */
const SHOWN_MAX = 500;

export interface LogSource {
  /** Changes with what the log is of. */
  id: string;
  /** The newest entries of these severities. */
  load: (severities: readonly string[]) => Promise<LogEntry[]>;
  /** Entries as they arrive; returns the end. */
  listen: (listener: (entry: LogEntry) => void) => () => void;
}

/** Entries once each, by time of arrival. */
function merged(entries: readonly LogEntry[], more: readonly LogEntry[]): LogEntry[] {
  const byKey = new Map(
    [...entries, ...more].map((entry) => [`${entry.received_at} ${entry.message}`, entry]),
  );
  return [...byKey.values()]
    .sort((a, b) => (a.received_at < b.received_at ? -1 : a.received_at > b.received_at ? 1 : 0))
    .slice(-SHOWN_MAX);
}

export function LogView({ source, nothing }: { source: LogSource; nothing: string }) {
  const [entries, setEntries] = useState<LogEntry[]>([]);
  const [error, setError] = useState<unknown>(undefined);
  const [least, setLeast] = useState('debug');
  const [isPaused, setPaused] = useState(false);
  const waiting = useRef<LogEntry[]>([]);
  const paused = useRef(false);

  useEffect(() => {
    setEntries([]);
    return source.listen((entry) => {
      if (paused.current) waiting.current = [...waiting.current, entry].slice(-SHOWN_MAX);
      else setEntries((before) => merged(before, [entry]));
    });
  }, [source.id]);
  const wanted = SEVERITIES.slice(SEVERITIES.indexOf(least as (typeof SEVERITIES)[number]));
  // After a lost connection too: what came meanwhile is read.
  useEffect(() => {
    let isCurrent = true;
    source.load(wanted).then(
      (found) => {
        if (!isCurrent) return;
        setEntries((before) => merged(before, found));
        setError(undefined);
      },
      (failure: unknown) => {
        if (isCurrent) setError(failure);
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [source.id, least, isConnected.value]);

  const toggle = (): void => {
    paused.current = !isPaused;
    setPaused(!isPaused);
    if (isPaused) setEntries((before) => merged(before, waiting.current.splice(0)));
  };
  const shown = entries.filter(({ severity }) => wanted.includes(severity)).toReversed();
  const choices = SEVERITIES.map((severity) => ({
    value: severity,
    text: severity === 'error' ? 'Errors only' : severity === 'debug' ? 'Everything' : `From ${severity} up`,
  }));
  return (
    <Card
      title="Logs"
      data-test="logs"
      actions={
        <>
          <Select value={least} onValue={setLeast} choices={choices} aria-label="Severity" />
          <Button onClick={toggle}>{isPaused ? 'Go on' : 'Pause'}</Button>
        </>
      }
    >
      <ErrorNotice error={error} />
      {shown.length === 0 ? (
        <Empty title="No entry">
          <p>{nothing}</p>
        </Empty>
      ) : (
        <ol class="log newest-first">
          {shown.map((entry) => (
            <li key={`${entry.received_at} ${entry.message}`}>
              <time>{momentText(entry.received_at)}</time>
              <span class={`severity ${entry.severity}`}>{entry.severity}</span>
              <span class="message">{entry.message}</span>
            </li>
          ))}
        </ol>
      )}
    </Card>
  );
}
