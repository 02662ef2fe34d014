/** The field trace of a device: what it is asked and answers, recorded while somebody looks for a fault. */
import { useRef } from 'preact/hooks';
import { call, callFor, path } from '../api.ts';
import { clockText, momentText } from '../format.ts';
import { may } from '../session.ts';
import type { Device, FieldTrace } from '../shapes.ts';
import { Awaited, Button, Card, ErrorNotice, useAction, useAnswer, useRefresh } from '../ui.tsx';
import { say } from '../words/later.ts';

const REFRESH_MS = 2_000;
/** More would make a phone slow; the file has all. */
const SHOWN = 50;

/** Empty for devices that no communication module runs. */
export function FieldTraceCard({ device }: { device: Device }) {
  if (device.type !== 'LUA' || !may('INSTALLER')) return null;
  return <TraceCard device={device} />;
}

function TraceCard({ device: { id } }: { device: Device }) {
  const address = path`/v3/devices/${id}/trace`;
  const last = useRef(0);
  const { answer, error, refresh, again } = useAnswer(async () => {
    const query = `?after=${Math.max(0, last.current - SHOWN)}`;
    const trace = await callFor<FieldTrace>('trace', 'GET', `${address}${query}`);
    last.current = trace.exchanges.at(-1)?.number ?? 0;
    return trace;
  }, [id]);
  const isRunning = answer?.state === 'STARTING' || answer?.state === 'RUNNING';
  useRefresh(() => isRunning && refresh(), REFRESH_MS);
  const starting = useAction(async () => {
    await call('POST', address, {});
    last.current = 0;
    again();
  });
  const stopping = useAction(async () => {
    await call('POST', `${address}/stop`, {});
    again();
  });
  const count = answer?.exchanges.at(-1)?.number ?? 0;
  return (
    <Card
      title={say.fieldTrace.trace}
      data-test="trace"
      actions={
        isRunning ? (
          <Button action={stopping}>{say.devices.stop}</Button>
        ) : (
          <Button action={starting}>{say.fieldTrace.traceStart}</Button>
        )
      }
    >
      <p class="hint">{say.fieldTrace.traceHint}</p>
      <ErrorNotice error={starting.error ?? stopping.error} />
      {answer ? <Recorded trace={answer} count={count} /> : <Awaited answer={answer} error={error} />}
      {count > 0 && (
        <div class="actions">
          <a class="button" href={address} download="">
            {say.fieldTrace.traceSave}
          </a>
          <a class="button" href={`${address}/image`} download>
            {say.fieldTrace.traceImage}
          </a>
        </div>
      )}
    </Card>
  );
}

function Recorded({ trace, count }: { trace: FieldTrace; count: number }) {
  const { state, ends_at: endsAt = '', dropped, exchanges } = trace;
  if (state === 'OFF') return null;
  return (
    <>
      <p role="status">
        {state === 'STARTING'
          ? say.fieldTrace.traceStarting
          : state === 'RUNNING'
            ? say.fieldTrace.traceRuns(clockText(endsAt), count)
            : say.fieldTrace.traceEnded(momentText(endsAt), count)}{' '}
        {dropped > 0 && say.fieldTrace.traceDropped(dropped)}
      </p>
      <ol class="trace">
        {exchanges
          .slice(-SHOWN)
          .toReversed()
          .map((exchange) => (
            <Line key={exchange.number} exchange={exchange} />
          ))}
      </ol>
    </>
  );
}

function Line({ exchange }: { exchange: FieldTrace['exchanges'][number] }) {
  const {
    at,
    transport,
    address,
    unit_id: unit,
    duration_ms: took,
    format,
    sent,
    received,
    error,
  } = exchange;
  const shown = (bytes: string): string => (format === 'HEX' ? bytes.replaceAll(/..(?=.)/g, '$& ') : bytes);
  return (
    <li>
      <time>{clockText(at)}</time> {transport} {address} {unit}
      {took !== undefined && ` · ${say.fieldTrace.traceTook(took)}`}
      {sent !== undefined && <pre>→ {shown(sent)}</pre>}
      {received !== undefined && <pre>← {shown(received)}</pre>}
      {error !== undefined && <pre class="error">✗ {error}</pre>}
    </li>
  );
}
