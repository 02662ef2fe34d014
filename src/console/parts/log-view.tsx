/** The log of a device or a rule, live. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { momentText } from '../format.ts';
import { matchesSearch } from '../text-search.ts';
import { isAway, isConnected } from '../connection.ts';
import { polls } from '../polling.ts';
import { Button, Card, Empty, ErrorNotice, Loading, Select, useAction, useAnswer } from '../ui.tsx';
import { download } from '../ui/page-components.tsx';
import { Search } from '../ui/search.tsx';
import type { LogEntry } from '../shapes.ts';
import { say } from '../words/index.ts';

const SEVERITIES = ['debug', 'info', 'warning', 'error'] as const;
/** More would make a phone slow. */
const SHOWN_MAX = 500;

interface LogSource {
  /** Names whose log it is. */
  id: string;
  /** Entries of a full page. */
  pageSize: number;
  /** A page of entries of these severities, the newest first, after the first `offset` of them. */
  load: (severities: readonly string[], offset: number) => Promise<LogEntry[]>;
  /** Calls the listener with each entry from the next `onOpen` on; returns what ends that. */
  listen: (listener: (entry: LogEntry) => void, onOpen: () => void) => () => void;
}

const keyOf = ({ received_at: at, message }: LogEntry): string => `${at} ${message}`;

/** Entries once each, by time of arrival. */
function merged(
  entries: readonly LogEntry[],
  more: readonly LogEntry[],
  max = Math.max(SHOWN_MAX, entries.length),
): LogEntry[] {
  const byKey = new Map([...entries, ...more].map((entry) => [keyOf(entry), entry]));
  return [...byKey.values()]
    .sort((a, b) => (a.received_at < b.received_at ? -1 : a.received_at > b.received_at ? 1 : 0))
    .slice(-max);
}

/** The known entries without those before a gap that was not read, which would look complete. */
function joined(
  known: readonly LogEntry[],
  page: readonly LogEntry[],
  pageSize: number,
): readonly LogEntry[] {
  const [first] = merged(page, []);
  if (!first || page.length < pageSize || known.some((one) => keyOf(one) === keyOf(first))) return known;
  return known.filter(({ received_at: at }) => at >= first.received_at);
}

/** Saves the shown entries as text, the oldest first. */
function save(id: string, shown: readonly LogEntry[]): void {
  const lines = shown
    .toReversed()
    .map(({ received_at: at, severity, message }) => `${at} ${severity} ${message}`);
  download(`${id}.log`, `${lines.join('\n')}\n`, 'text/plain');
}

const wantedFrom = (least: string): readonly string[] =>
  SEVERITIES.slice(SEVERITIES.indexOf(least as (typeof SEVERITIES)[number]));

/** The known entries of a log: pages that were read, and entries as they arrive, those of a pause after it. */
function useLog(source: LogSource, least: string) {
  const [entries, setEntries] = useState<LogEntry[]>([]);
  const [isPaused, setPaused] = useState(false);
  const [isEnd, setEnd] = useState(true);
  const [openings, setOpenings] = useState(0);
  const waiting = useRef<LogEntry[]>([]);
  const paused = useRef(false);
  const wanted = wantedFrom(least);
  useEffect(() => setEntries([]), [source.id]);
  // Again after a lost connection: a quiet stream does not tell that it was cut.
  useEffect(
    () =>
      source.listen(
        (entry) => {
          if (paused.current) waiting.current = [...waiting.current, entry].slice(-SHOWN_MAX);
          else setEntries((before) => merged(before, [entry]));
        },
        () => setOpenings((before) => before + 1),
      ),
    [source.id, isAway.value],
  );
  // Also after a lost connection and once the stream is open, to read what came meanwhile.
  const newest = useAnswer(
    () => source.load(wanted, 0),
    [source.id, least, isConnected.value, openings, polls.value],
  );
  useEffect(() => {
    if (!newest.answer) return;
    const found = newest.answer;
    setEntries((before) => merged(joined(before, found, source.pageSize), found));
    setEnd(found.length < source.pageSize);
  }, [newest.answer]);
  const shown = entries.filter(({ severity }) => wanted.includes(severity)).toReversed();
  const older = useAction(async () => {
    const found = await source.load(wanted, shown.length);
    setEntries((before) => merged(before, found, before.length + found.length));
    setEnd(found.length < source.pageSize);
  });
  const pause = (): void => {
    paused.current = !isPaused;
    setPaused(!isPaused);
    if (isPaused) setEntries((before) => merged(before, waiting.current.splice(0)));
  };
  const isRead = newest.answer !== undefined && !newest.isOther;
  return { shown, isRead, isPaused, pause, isEnd, older, error: newest.error ?? older.error };
}

const CHOICES = SEVERITIES.map((severity) => ({
  value: severity,
  text:
    severity === 'error'
      ? say.devices.errorsOnly
      : severity === 'debug'
        ? say.devices.everything
        : say.devices.fromSeverityUp[severity],
}));

export function LogView({ source, nothing }: { source: LogSource; nothing: string }) {
  const [least, setLeast] = useState('debug');
  const [text, setText] = useState('');
  const { shown, isRead, isPaused, pause, isEnd, older, error } = useLog(source, least);
  const found = shown.filter(({ message }) => matchesSearch(say.frame.logged(message), text));
  return (
    <Card
      title={say.devices.logs}
      data-test="logs"
      actions={
        <>
          <Search label={say.devices.findEntry} text={text} onText={setText} />
          <Select value={least} onValue={setLeast} choices={CHOICES} aria-label={say.everywhere.severity} />
          <Button onClick={pause}>{isPaused ? say.devices.goOn : say.devices.pause}</Button>
        </>
      }
    >
      <ErrorNotice error={error} />
      {found.length > 0 ? (
        <Entries entries={found} />
      ) : !isRead ? (
        error === undefined && <Loading />
      ) : (
        <Empty title={shown.length > 0 ? say.devices.noEntryHasIt : say.devices.noEntry}>
          {shown.length > 0 ? say.devices.olderMayHaveIt : nothing}
        </Empty>
      )}
      {shown.length > 0 && (
        <div class="actions">
          {!isEnd && <Button action={older}>{say.devices.olderEntries}</Button>}
          <Button onClick={() => save(source.id, found)}>{say.devices.downloadThese}</Button>
        </div>
      )}
    </Card>
  );
}

function Entries({ entries }: { entries: readonly LogEntry[] }) {
  return (
    <ol class="log newest-first">
      {entries.map((entry) => (
        <li key={keyOf(entry)}>
          <time>{momentText(entry.received_at)}</time>
          <span class={`severity ${entry.severity}`}>{say.values.severity[entry.severity]}</span>
          <span class="message">{say.frame.logged(entry.message)}</span>
        </li>
      ))}
    </ol>
  );
}
