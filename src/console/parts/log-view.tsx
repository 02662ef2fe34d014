/** What a device or a rule says about itself, as it says it. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { momentText } from '../format.ts';
import { isConnected } from '../connection.ts';
import { Button, Card, download, Empty, ErrorNotice, Select, useAction } from '../ui.tsx';
import type { LogEntry } from '../shapes.ts';

const SEVERITIES = ['debug', 'info', 'warning', 'error'] as const;
/** More would make a phone slow. */
const SHOWN_MAX = 500;

export interface LogSource {
  /** Changes with what the log is of. */
  id: string;
  /** Entries of a whole page. */
  pageSize: number;
  /** A page of entries of these severities, the newest first, after so many of them. */
  load: (severities: readonly string[], offset: number) => Promise<LogEntry[]>;
  /** Entries as they arrive; returns the end. */
  listen: (listener: (entry: LogEntry) => void) => () => void;
}

/** Entries once each, by time of arrival. */
function merged(
  entries: readonly LogEntry[],
  more: readonly LogEntry[],
  max = Math.max(SHOWN_MAX, entries.length),
): LogEntry[] {
  const byKey = new Map(
    [...entries, ...more].map((entry) => [`${entry.received_at} ${entry.message}`, entry]),
  );
  return [...byKey.values()]
    .sort((a, b) => (a.received_at < b.received_at ? -1 : a.received_at > b.received_at ? 1 : 0))
    .slice(-max);
}

/** What is shown, the oldest first, as text. */
function save(id: string, shown: readonly LogEntry[]): void {
  const lines = shown
    .toReversed()
    .map(({ received_at: at, severity, message }) => `${at} ${severity} ${message}`);
  download(`${id}.log`, `${lines.join('\n')}\n`, 'text/plain');
}

export function LogView({ source, nothing }: { source: LogSource; nothing: string }) {
  const [entries, setEntries] = useState<LogEntry[]>([]);
  const [error, setError] = useState<unknown>(undefined);
  const [least, setLeast] = useState('debug');
  const [isPaused, setPaused] = useState(false);
  const [isEnd, setEnd] = useState(true);
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
    source.load(wanted, 0).then(
      (found) => {
        if (!isCurrent) return;
        setEntries((before) => merged(before, found));
        setEnd(found.length < source.pageSize);
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
  const older = useAction(async () => {
    const found = await source.load(wanted, shown.length);
    setEntries((before) => merged(before, found, before.length + found.length));
    setEnd(found.length < source.pageSize);
  });
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
      <ErrorNotice error={error ?? older.error} />
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
      {!isEnd && shown.length > 0 && (
        <div class="actions">
          <Button disabled={older.isBusy} onClick={() => void older.start()}>
            Older entries
          </Button>
          <Button onClick={() => save(source.id, shown)}>Download these</Button>
        </div>
      )}
    </Card>
  );
}
