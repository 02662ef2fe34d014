/** Commands of a device: forms made from the manifest, and the outcome of each execution. */
import { groupBy } from '../group-by.ts';
import { useEffect, useState } from 'preact/hooks';
import { initialTexts, judge, textOf, type Texts, typedValues } from '../arguments.ts';
import { words } from '../format.ts';
import type { LiveDevice } from '../live.ts';
import { ArgumentFields } from '../parts/argument-form.tsx';
import { CommandControl, hasControl } from '../parts/command-control.tsx';
import { ExecutionDetails, Executions, isSettled } from '../parts/executions.tsx';
import { Outputs } from '../parts/outputs.tsx';
import { outcomeOf, read, send } from '../parts/run-command.ts';
import { useDevice } from '../parts/whole-device.ts';
import { may } from '../session.ts';
import { type Action, Button, Card, Dialog, ErrorNotice, Form, Notice, Question, useAction } from '../ui.tsx';
import type { Command, Execution } from '../shapes.ts';
import { say } from '../words/index.ts';

const POLL_INTERVAL_MS = 500;

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
            <CommandList live={live} members={members} onChosen={setChosen} />
          </Card>
        ))}
      </div>
      <Outputs deviceId={device.id} />
      <Executions live={live} />
      {chosen && (
        <RunCommand live={live} name={chosen[0]} command={chosen[1]} onClose={() => setChosen(undefined)} />
      )}
    </>
  );
}

function CommandList({
  live,
  members,
  onChosen,
}: {
  live: LiveDevice;
  members: readonly [name: string, command: Command][];
  onChosen: (chosen: [name: string, command: Command]) => void;
}) {
  return (
    <ul class="controls">
      {members.map(([name, command]) => {
        const { display_name: text, description } = command;
        const isControl = hasControl(command);
        const isPlain = Object.keys(command.arguments ?? {}).length === 0;
        return (
          <li key={name}>
            <span class="what">
              <b>{text}</b>
              {description !== undefined && <small>{description}</small>}
            </span>
            {isControl && !isPlain ? (
              <CommandControl live={live} name={name} command={command} />
            ) : (
              <Button
                onClick={() => onChosen([name, command])}
                data-command={name}
                {...(!isPlain && { 'aria-label': say.devices.runCommand(text) })}
              >
                {!isPlain ? say.devices.runAsking : command.confirmation ? say.devices.asking(text) : text}
              </Button>
            )}
          </li>
        );
      })}
    </ul>
  );
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
  const { confirmation } = command;
  // Without arguments there is nothing to fill in.
  const isPlain = Object.keys(declared).length === 0;
  const [isAsking, setAsking] = useState(isPlain && confirmation !== undefined);
  const [execution, setExecution] = useState<string | undefined>(undefined);
  const action = useAction(async () => {
    judge(declared, texts);
    if (confirmation && !isAsking) {
      setAsking(true);
      return;
    }
    if (!isPlain) setAsking(false);
    const { values } = typedValues(declared, texts);
    setExecution((await send(live.device.id, name, values)).execution_id);
  });
  useEffect(() => {
    if (isPlain && !confirmation) void action.start();
  }, []);
  return (
    <Dialog
      title={isAsking && execution === undefined && confirmation ? confirmation.title : command.display_name}
      // Escape answers the question, and what was typed stays.
      onClose={isAsking && !isPlain ? () => setAsking(false) : onClose}
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
          isBusy={action.isBusy}
          error={action.error}
          onConfirm={() => void action.start()}
          onClose={isPlain ? onClose : () => setAsking(false)}
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
    const payload = await outcomeOf(live.device.id, source, {}, say.devices.toldNothing);
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
