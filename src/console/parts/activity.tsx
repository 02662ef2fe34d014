/** The list of changes and commands, with their authors. */
import { useState } from 'preact/hooks';
import { callForList } from '../api.ts';
import { remoteCommandCount } from '../remote-changes.ts';
import { momentText, words } from '../format.ts';
import { liveDevice } from '../live.ts';
import { Awaited, Button, Card, useFollow, useStored } from '../ui.tsx';
import type { AuditEntry } from '../shapes.ts';
import { say } from '../words/later.ts';

const PAGE = 15;
const MORE = 50;
const REFUSED_FROM = 400;
const ROLES: Readonly<Record<string, string | undefined>> = say.values.role;

export function ActivityCard() {
  const [limit, setLimit] = useState(PAGE);
  const { answer, error, follow } = useStored(
    () => callForList<AuditEntry>('/v3/audit', 'entries', limit),
    [limit],
  );
  useFollow(remoteCommandCount, follow);
  return (
    <Card
      title={say.access.activity}
      actions={
        <a class="button" href="/v3/audit/export" download>
          {say.access.export}
        </a>
      }
    >
      <Awaited answer={answer} error={error} />
      <ul class="rows">
        {answer?.items.map((entry) => (
          <Entry entry={entry} key={entry.number} />
        ))}
      </ul>
      {answer && answer.total > answer.items.length && (
        <Button onClick={() => setLimit(limit + MORE)}>{say.everywhere.showMore(answer.total)}</Button>
      )}
    </Card>
  );
}

/** The changed objects, by name where one is known: names are written beside their ids. */
function whatOf(target: Readonly<Record<string, string>>): string {
  const device = target['device_id'];
  const names = Object.entries(target).flatMap(([key, value]) =>
    key.endsWith('_id') || value === ''
      ? []
      : [key === 'role' ? (ROLES[value] ?? value) : say.access.targetValue(key, value)],
  );
  const known = device === undefined ? undefined : liveDevice(device)?.device.name;
  // The audit trail has the name of that time.
  return [...new Set([...(known === undefined ? [] : [known]), ...names])].join(' · ');
}

function Entry({
  entry: { at, origin, operation, target, status, remote_address: address },
}: {
  entry: AuditEntry;
}) {
  const what = whatOf(target);
  return (
    <li>
      <span>
        <b>{say.access.operation(operation) ?? words(operation)}</b> {what !== '' && `· ${what}`}
        <small>
          {say.access.originName(origin.kind, origin.name)}
          {address !== undefined && say.access.fromAddress(address)} · {momentText(at)}
        </small>
      </span>
      {status >= REFUSED_FROM && <span class="badge error">{say.access.refused(status)}</span>}
    </li>
  );
}
