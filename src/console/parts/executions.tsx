/** The outcome of commands. */
import { useState } from 'preact/hooks';
import { callForList, path } from '../api.ts';
import { remoteCommandCount } from '../remote-changes.ts';
import { clockText, momentText } from '../format.ts';
import type { LiveDevice } from '../live.ts';
import { gatewayNowMs } from '../gateway-time.ts';
import { Awaited, Button, Card, Notice, useFollow, useStored } from '../ui.tsx';
import { useDevice } from './whole-device.ts';
import type { Execution, Manifest } from '../shapes.ts';
import { say } from '../words/index.ts';

const PAGE = 10;
const REFRESH_MS = 30_000;
const OPEN_REFRESH_MS = 2_000;
/** A command without an answer in time is read again for so long, in case a late one comes. */
const LATE_MAX_MS = 600_000;

/** The final response of a device that came after the command had timed out. */
function lateEndOf({ state, log = [] }: Execution): 'SUCCEEDED' | 'ERROR' | undefined {
  if (state !== 'TIMEOUT') return undefined;
  const inTurn = log.toReversed();
  // The first end is the time-out that the gateway has recorded.
  const end = inTurn.findIndex((response) => response.state === 'ERROR');
  const late = inTurn.slice(end + 1).findLast(({ state: last }) => last === 'SUCCEEDED' || last === 'ERROR');
  return late?.state === 'SUCCEEDED' || late?.state === 'ERROR' ? late.state : undefined;
}

/** Whether the final response of the device is known. */
export function isSettled(execution: Execution): boolean {
  const { state } = execution;
  return state === 'SUCCESS' || state === 'ERROR' || lateEndOf(execution) !== undefined;
}

const mayChange = (execution: Execution): boolean =>
  !isSettled(execution) &&
  (execution.state !== 'TIMEOUT' || gatewayNowMs() - Date.parse(execution.created_at) < LATE_MAX_MS);

function newest(deviceId: string, limit: number): Promise<{ items: Execution[]; total: number }> {
  const list = path`/v3/devices/${deviceId}/commands/executions`;
  return callForList(`${list}?expand=log&retention=ALL&order=CREATED_AT_DESC`, 'executions', limit);
}

/** The newest executions of a device. */
export function Executions({ live }: { live: LiveDevice }) {
  const { manifest } = useDevice(live);
  const [limit, setLimit] = useState(PAGE);
  const { answer, error, again, follow } = useStored(
    () => newest(live.device.id, limit),
    [live.device.id, limit],
    // Executions under way are read again until they end.
    (known) => (known?.items.some(mayChange) === true ? OPEN_REFRESH_MS : REFRESH_MS),
  );
  useFollow(remoteCommandCount, follow);
  return (
    <Card
      title={say.devices.executions}
      actions={<Button onClick={again}>{say.devices.refresh}</Button>}
      data-test="executions"
    >
      <Awaited answer={answer} error={error} />
      {answer?.items.length === 0 && <p class="hint">{say.devices.noExecution}</p>}
      {answer?.items.map((execution) => (
        <details class="execution-item" key={execution.id}>
          <summary>
            <StateBadge execution={execution} />
            <b>
              {manifest?.commands[execution.request.manifest_name]?.display_name ?? execution.request.name}
            </b>
            <small>{momentText(execution.created_at)}</small>
          </summary>
          <ExecutionDetails execution={execution} live={live} />
        </details>
      ))}
      {answer && answer.total > answer.items.length && (
        <Button onClick={() => setLimit(limit + PAGE)}>{say.everywhere.showMore(answer.total)}</Button>
      )}
    </Card>
  );
}

const STATE_TEXTS: Readonly<Record<string, string>> = {
  NEW: say.devices.waiting,
  IN_PROGRESS: say.devices.running,
  SUCCESS: say.devices.done,
  ERROR: say.devices.failed,
  TIMEOUT: say.devices.noAnswer,
};

/** How far it is or how it ended; a late end counts where the execution has its log. */
export function stateText(execution: Execution): string {
  const late = lateEndOf(execution);
  return late === undefined ? (STATE_TEXTS[execution.state] ?? execution.state) : say.devices.lateEnd[late];
}

function StateBadge({ execution }: { execution: Execution }) {
  const kind = lateEndOf(execution) === 'SUCCEEDED' ? 'success' : execution.state.toLowerCase();
  return <span class={`badge state ${kind}`}>{stateText(execution)}</span>;
}

/** The arguments as they were given, secrets hidden. */
export function givenTexts({ request }: Execution, manifest: Manifest | undefined): string[] {
  const declared = manifest?.commands[request.manifest_name]?.arguments;
  return Object.entries(request.arguments).map(
    ([name, value]) => `${name}: ${declared?.[name]?.sensitive === true ? '•••' : JSON.stringify(value)}`,
  );
}

export function ExecutionDetails({ execution, live }: { execution: Execution; live: LiveDevice }) {
  const log = (execution.log ?? []).toReversed();
  const given = givenTexts(execution, live.manifest);
  return (
    <div class="execution" data-state={execution.state}>
      <p>
        <StateBadge execution={execution} /> <small>{momentText(execution.created_at)}</small>
      </p>
      {given.length > 0 && <p class="hint">{given.join(', ')}</p>}
      {execution.state === 'TIMEOUT' && !isSettled(execution) && (
        <Notice kind="warning">{say.devices.isDoneUnknown}</Notice>
      )}
      <ol class="log">
        {log.map((response, index) => (
          <li key={response.received_at + response.state}>
            <time>{clockText(response.received_at)}</time>
            <span class={response.state === 'ERROR' ? 'severity error' : 'severity'}>
              {index === 0 && isOfGateway(response)
                ? say.devices.sent
                : say.devices.responseState[response.state]}
            </span>
            <span class="message">{payloadText(response.payload)}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}

/** The request was written to the device, which may not have started yet. */
const isOfGateway = ({ state, payload }: NonNullable<Execution['log']>[number]): boolean =>
  state === 'STARTED' && Object.keys(payload).length === 0;

function payloadText(payload: Record<string, unknown>): string {
  return Object.entries(payload)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      return name === 'message' ? say.frame.logged(text) : `${name}: ${text}`;
    })
    .join(', ');
}
