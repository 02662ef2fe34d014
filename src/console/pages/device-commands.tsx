/** Commands of a device: forms made from the manifest, and the outcome of each execution. */
import { groupBy } from '../group-by.ts';
import { useEffect, useState } from 'preact/hooks';
import { call, callFor, path } from '../api.ts';
import { initialTexts, judge, textOf, type Texts, typedValues } from '../arguments.ts';
import { words } from '../format.ts';
import type { LiveDevice } from '../live.ts';
import { ArgumentFields } from '../parts/argument-form.tsx';
import { ExecutionDetails, Executions, isSettled } from '../parts/executions.tsx';
import { useDevice } from '../parts/whole-device.ts';
import { may } from '../session.ts';
import { type Action, Button, Card, Dialog, ErrorNotice, Form, Notice, Question, useAction } from '../ui.tsx';
import type { Command, Execution } from '../shapes.ts';
import { say } from '../words/index.ts';

const POLL_INTERVAL_MS = 500;
const ENDED = new Set(['SUCCESS', 'ERROR', 'TIMEOUT']);

export function CommandsTab({ live }: { live: LiveDevice }) {
  const { device, manifest } = useDevice(live);
  // As it was declared then: the device may get another blueprint while the dialog is open.
  const [chosen, setChosen] = useState<[name: string, command: Command] | undefined>(undefined);
  const commands = Object.entries(manifest?.commands ?? {}).filter(([, command]) =>
    may(command.access_level),
  );
  const groups = groupBy(commands, ([, command]) => command.group ?? '');
  return (
    <>
      {device.connectivity?.status !== 'ONLINE' && (
        <Notice kind="warning">{say.devices.offlineNoCommand}</Notice>
      )}
      <div class="columns">
        {[...groups].map(([group, members]) => (
          <Card
            title={manifest?.command_groups?.[group]?.display_name ?? (words(group) || say.devices.commands)}
            key={group}
          >
            <CommandList members={members} onChosen={setChosen} />
          </Card>
        ))}
      </div>
      <Executions live={live} />
      {chosen && (
        <RunCommand live={live} name={chosen[0]} command={chosen[1]} onClose={() => setChosen(undefined)} />
      )}
    </>
  );
}

function CommandList({
  members,
  onChosen,
}: {
  members: readonly [name: string, command: Command][];
  onChosen: (chosen: [name: string, command: Command]) => void;
}) {
  return (
    <div class="command-list">
      {members.map(([name, command]) => {
        const { display_name: text, description } = command;
        return (
          <div class="command" key={name}>
            <span>
              <b>{text}</b>
              {description !== undefined && <small>{description}</small>}
            </span>
            <Button
              onClick={() => onChosen([name, command])}
              data-command={name}
              aria-label={say.devices.runCommand(text)}
            >
              {say.devices.runAsking}
            </Button>
          </div>
        );
      })}
    </div>
  );
}

function send(
  deviceId: string,
  name: string,
  values: Record<string, unknown>,
): Promise<{ execution_id: string }> {
  return call('POST', path`/v3/devices/${deviceId}/commands/executions`, { name, arguments: values });
}

function read(deviceId: string, executionId: string): Promise<Execution> {
  const address = path`/v3/devices/${deviceId}/commands/executions/${executionId}`;
  return callFor('execution', 'GET', `${address}?expand=log`);
}

interface RunProps {
  live: LiveDevice;
  name: string;
  command: Command;
  onClose: () => void;
}

function RunCommand({ live, name, command, onClose }: RunProps) {
  const declared = command.arguments ?? {};
  const [texts, setTexts] = useState<Texts>(() => initialTexts(declared));
  const [isAsking, setAsking] = useState(false);
  const [execution, setExecution] = useState<string | undefined>(undefined);
  const { confirmation } = command;
  const action = useAction(async () => {
    judge(declared, texts);
    if (confirmation && !isAsking) {
      setAsking(true);
      return;
    }
    setAsking(false);
    const { values } = typedValues(declared, texts);
    setExecution((await send(live.device.id, name, values)).execution_id);
  });
  return (
    <Dialog
      title={isAsking && confirmation ? confirmation.title : command.display_name}
      // Escape answers the question, and what was typed stays.
      onClose={isAsking ? () => setAsking(false) : onClose}
    >
      {execution !== undefined ? (
        <>
          <Progress live={live} executionId={execution} />
          <div class="actions end">
            <Button kind="primary" onClick={onClose}>
              {say.everywhere.close}
            </Button>
          </div>
        </>
      ) : isAsking && confirmation ? (
        <Question
          text={confirmation.description}
          confirm={command.display_name}
          isDangerous={confirmation.severity === 'warning'}
          onConfirm={() => void action.start()}
          onClose={() => setAsking(false)}
        />
      ) : (
        <CommandForm {...{ live, command, texts, action, onClose }} onTexts={setTexts} />
      )}
    </Dialog>
  );
}

function CommandForm({
  live,
  command,
  texts,
  onTexts,
  action,
  onClose,
}: Omit<RunProps, 'name'> & {
  texts: Texts;
  onTexts: (change: (before: Texts) => Texts) => void;
  action: Action;
}) {
  return (
    <Form
      action={action}
      submit={command.confirmation ? say.devices.runAsking : say.devices.run}
      onCancel={onClose}
    >
      {command.description !== undefined && <p>{command.description}</p>}
      <PopulateButton
        live={live}
        command={command}
        onValues={(values) => onTexts((before) => ({ ...before, ...values }))}
      />
      <ArgumentFields declared={command.arguments ?? {}} texts={texts} onTexts={onTexts} />
    </Form>
  );
}

/** Fills the form with the present settings of the device. */
function PopulateButton({
  live,
  command,
  onValues,
}: {
  live: LiveDevice;
  command: Command;
  onValues: (texts: Texts) => void;
}) {
  const { device } = useDevice(live);
  const { populate_values_command: source, arguments: declared = {} } = command;
  const action = useAction(async () => {
    if (source === undefined) return;
    const { execution_id: id } = await send(live.device.id, source, {});
    let execution = await read(live.device.id, id);
    while (!ENDED.has(execution.state)) {
      await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS));
      execution = await read(live.device.id, id);
    }
    const payload = execution.response?.payload ?? {};
    if (execution.state !== 'SUCCESS') throw new Error(messageOf(payload) ?? say.devices.toldNothing);
    const found = Object.entries(declared).filter(([key]) => payload[key] !== undefined);
    onValues(Object.fromEntries(found.map(([key, argument]) => [key, textOf(argument, payload[key])])));
  });
  if (source === undefined || device.connectivity?.status !== 'ONLINE') return null;
  return (
    <>
      <Button action={action}>{action.isBusy ? say.devices.askingDevice : say.devices.fillIn}</Button>
      <ErrorNotice error={action.error} />
    </>
  );
}

function messageOf(payload: Record<string, unknown>): string | undefined {
  return typeof payload['message'] === 'string' ? payload['message'] : undefined;
}

/** Follows an execution until its end. */
function Progress({ live, executionId }: { live: LiveDevice; executionId: string }) {
  const { id: deviceId } = live.device;
  const [execution, setExecution] = useState<Execution | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isCurrent = true;
    const look = async (): Promise<void> => {
      let found: Execution | undefined;
      try {
        found = await read(deviceId, executionId);
        setError(undefined);
      } catch (failure) {
        setError(failure);
      }
      if (!isCurrent) return;
      if (found) setExecution(found);
      if (!found || !isSettled(found)) timer = setTimeout(() => void look(), POLL_INTERVAL_MS);
    };
    void look();
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [deviceId, executionId]);
  return (
    <div aria-live="polite" data-test="progress">
      <ErrorNotice error={error} />
      {execution ? <ExecutionDetails execution={execution} live={live} /> : <p>{say.devices.onItsWay}</p>}
    </div>
  );
}
