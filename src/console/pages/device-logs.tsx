/** What a device says about itself, as it says it. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { call, path } from '../api.ts';
import { momentText } from '../format.ts';
import { isConnected, listenToLog, type LiveDevice } from '../live.ts';
import { Button, Card, Empty, ErrorNotice, Select } from '../ui.tsx';
import type { LogEntry } from '../wire.ts';

const SEVERITIES = ['debug', 'info', 'warning', 'error'] as const;
/** More would make a phone slow. */
const SHOWN_MAX = 500;
const PAGE = 50;

/** Entries once each, by time of arrival. */
function merged(entries: readonly LogEntry[], more: readonly LogEntry[]): LogEntry[] {
  const byKey = new Map(
    [...entries, ...more].map((entry) => [`${entry.received_at} ${entry.message}`, entry]),
  );
  return [...byKey.values()]
    .sort((a, b) => (a.received_at < b.received_at ? -1 : a.received_at > b.received_at ? 1 : 0))
    .slice(-SHOWN_MAX);
}

export function LogsTab({ live }: { live: LiveDevice }) {
  const { id } = live.device;
  const [entries, setEntries] = useState<LogEntry[]>([]);
  const [error, setError] = useState<unknown>(undefined);
  const [least, setLeast] = useState('debug');
  const [isPaused, setPaused] = useState(false);
  const waiting = useRef<LogEntry[]>([]);
  const paused = useRef(false);

  useEffect(
    () =>
      listenToLog(id, (entry) => {
        if (paused.current) waiting.current = [...waiting.current, entry].slice(-SHOWN_MAX);
        else setEntries((before) => merged(before, [entry]));
      }),
    [id],
  );
  const wanted = SEVERITIES.slice(SEVERITIES.indexOf(least as (typeof SEVERITIES)[number]));
  // After a lost connection too: what came meanwhile is read.
  useEffect(() => {
    const query = `limit=${PAGE}&severity=${wanted.join(',')}`;
    call<{ logs: LogEntry[] }>('GET', `${path`/v3/devices/${id}/logs`}?${query}`).then(
      ({ logs }) => setEntries((before) => merged(before, logs)),
      setError,
    );
  }, [id, least, isConnected.value]);

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
          <p>What the device logs appears here as it arrives.</p>
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
