/** Outputs of a device, or those that a rule sets: the rule that holds them, their limits, and their history. */
import { useState } from 'preact/hooks';
import { callForList, path } from '../api.ts';
import { momentText } from '../format.ts';
import type { Output, OutputChange } from '../shapes.ts';
import { Awaited, Card, useStored } from '../ui.tsx';
import { say } from '../words/later.ts';

const REFRESH_MS = 5_000;
const PAGE = 50;
const CHANGES = 20;

/** Outputs of one device or one rule. Empty where no rule has set anything. */
export function Outputs({ deviceId, ruleId }: { deviceId?: string; ruleId?: string }) {
  const isOfRule = ruleId !== undefined;
  const query = isOfRule ? `rule_id.in=${ruleId}` : `device_id.in=${deviceId}`;
  const { answer } = useStored(
    () => callForList<Output>(`/v3/site/outputs?${query}`, 'outputs', PAGE),
    [query],
    REFRESH_MS,
  );
  if (!answer || answer.items.length === 0) return null;
  return (
    <Card title={say.rules.outputs} data-test="outputs">
      {answer.items.map((output) => (
        <OutputLine output={output} isOfRule={isOfRule} key={output.id} />
      ))}
    </Card>
  );
}

const commandText = ({ name, arguments: given }: Pick<OutputChange, 'name' | 'arguments'>): string =>
  [name, ...Object.entries(given).map(([key, value]) => `${key}=${String(value)}`)].join(' ');

function OutputLine({ output, isOfRule }: { output: Output; isOfRule: boolean }) {
  const [isOpen, setOpen] = useState(false);
  const { command, other_command: other, holder, limited_by: limits } = output;
  const by = holder ?? (output.is_held ? say.rules.safeValue : say.rules.nobody);
  return (
    <details class="execution-item" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <span class={`badge ${holder === undefined ? '' : 'good'}`}>{by}</span>
        <b>
          {[...(isOfRule ? [output.device_name] : []), ...(output.name === undefined ? [] : [output.name])]
            .concat(command ? commandText(command) : output.commands.join(', '))
            .join(' · ')}
        </b>
        <small>
          {limits.length > 0 && say.rules.limitedBy(limits.join(', '))} {command?.error}
          {other && say.rules.otherCommand(commandText(other), other.by)}
        </small>
      </summary>
      {output.safe && <p class="hint">{say.rules.safeAfter(commandText(output.safe))}</p>}
      {isOpen && <Changes id={output.id} />}
    </details>
  );
}

function Changes({ id }: { id: string }) {
  const { answer, error } = useStored(
    () => callForList<OutputChange>(path`/v3/site/outputs/${id}/changes`, 'changes', CHANGES),
    [id],
    REFRESH_MS,
  );
  return (
    <>
      <Awaited answer={answer} error={error} />
      <ul>
        {answer?.items.map((change) => (
          <li key={`${change.at} ${commandText(change)}`}>
            <small>{momentText(change.at)}</small> {commandText(change)}{' '}
            <small>
              {change.by} {change.source === 'SAFE' && say.rules.safeValue}{' '}
              {change.limited_by.length > 0 && say.rules.limitedBy(change.limited_by.join(', '))}{' '}
              {change.error}
            </small>
          </li>
        ))}
      </ul>
    </>
  );
}
