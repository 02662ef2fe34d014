/** Commands of a device: forms made from the manifest, and what became of each execution. */
import { useEffect, useState } from 'preact/hooks';
import { call, NoAnswer, path } from '../api.ts';
import { initialTexts, textOf, type Texts, typedValues } from '../arguments.ts';
import { words } from '../format.ts';
import type { LiveDevice } from '../live.ts';
import { ArgumentFields } from '../parts/argument-form.tsx';
import { ExecutionDetails, Executions } from '../parts/executions.tsx';
import { may } from '../session.ts';
import { Button, Card, Dialog, Empty, ErrorNotice, Form, Notice, Question, useAction } from '../ui.tsx';
import type { Command, Execution } from '../shapes.ts';

const POLL_INTERVAL_MS = 500;
const ENDED = new Set(['SUCCESS', 'ERROR', 'TIMEOUT']);

export function CommandsTab({ live }: { live: LiveDevice }) {
  const { manifest } = live;
  const [chosen, setChosen] = useState<string | undefined>(undefined);
  const [round, setRound] = useState(0);
  const commands = Object.entries(manifest?.commands ?? {}).filter(([, command]) =>
    may(command.access_level),
  );
  const groups = Object.groupBy(commands, ([, command]) => command.group ?? '');
  const command = chosen === undefined ? undefined : manifest?.commands[chosen];
  return (
    <>
      {live.device.connectivity?.status !== 'ONLINE' && (
        <Notice kind="warning">
          <p>The device is offline; it takes no command until it connects.</p>
        </Notice>
      )}
      {commands.length === 0 && (
        <Empty title="No command for your role">
          <p>The commands of this device need a higher role than yours.</p>
        </Empty>
      )}
      <div class="columns">
        {Object.entries(groups).map(([group, members = []]) => (
          <Card
            title={manifest?.command_groups?.[group]?.display_name ?? (words(group) || 'Commands')}
            key={group}
          >
            <div class="command-list">
              {members.map(([name, { display_name: text, description }]) => (
                <div class="command" key={name}>
                  <span>
                    <b>{text}</b>
                    {description !== undefined && <small>{description}</small>}
                  </span>
                  <Button onClick={() => setChosen(name)} data-command={name} aria-label={`Run ${text}`}>
                    Run…
                  </Button>
                </div>
              ))}
            </div>
          </Card>
        ))}
      </div>
      <Executions live={live} round={round} />
      {chosen !== undefined && command && (
        <RunCommand
          live={live}
          name={chosen}
          command={command}
          onClose={() => {
            setChosen(undefined);
            setRound(round + 1);
          }}
        />
      )}
    </>
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
  return call<{ execution: Execution }>(
    'GET',
    `${path`/v3/devices/${deviceId}/commands/executions/${executionId}`}?expand=log`,
  ).then(({ execution }) => execution);
}

function RunCommand({
  live,
  name,
  command,
  onClose,
}: {
  live: LiveDevice;
  name: string;
  command: Command;
  onClose: () => void;
}) {
  const declared = command.arguments ?? {};
  const [texts, setTexts] = useState<Texts>(() => initialTexts(declared));
  const [isAsking, setAsking] = useState(false);
  const [faults, setFaults] = useState<string[]>([]);
  const [execution, setExecution] = useState<string | undefined>(undefined);
  const { id } = live.device;
  const action = useAction(async () => {
    const { execution_id: made } = await send(id, name, typedValues(declared, texts).values);
    setExecution(made);
  });
  const start = (): void => {
    const typed = typedValues(declared, texts);
    setFaults(typed.faults);
    if (typed.faults.length > 0) return;
    if (command.confirmation && !isAsking) setAsking(true);
    else {
      setAsking(false);
      void action.start();
    }
  };
  const { confirmation } = command;
  return (
    <Dialog title={isAsking && confirmation ? confirmation.title : command.display_name} onClose={onClose}>
      {execution !== undefined ? (
        <>
          <Progress live={live} executionId={execution} />
          <div class="actions end">
            <Button kind="primary" onClick={onClose}>
              Close
            </Button>
          </div>
        </>
      ) : isAsking && confirmation ? (
        <Question
          text={confirmation.description}
          confirm={command.display_name}
          isDangerous={confirmation.severity === 'warning'}
          onConfirm={start}
          onClose={() => setAsking(false)}
        />
      ) : (
        <Form onSubmit={start}>
          {command.description !== undefined && <p>{command.description}</p>}
          <PopulateButton
            live={live}
            command={command}
            onValues={(values) => setTexts({ ...texts, ...values })}
          />
          <ArgumentFields declared={declared} texts={texts} onTexts={setTexts} />
          {faults.length > 0 && (
            <Notice kind="warning">
              {faults.map((fault) => (
                <p>{fault}</p>
              ))}
            </Notice>
          )}
          <ErrorNotice error={action.error} />
          {action.error instanceof NoAnswer && (
            <Notice kind="warning">
              <p>
                It is not known whether the device got the command. Look at its executions before you run it
                again.
              </p>
            </Notice>
          )}
          <div class="actions end">
            <Button onClick={onClose}>Cancel</Button>
            <Button kind="primary" type="submit" disabled={action.isBusy}>
              {command.confirmation ? 'Run…' : 'Run'}
            </Button>
          </div>
        </Form>
      )}
    </Dialog>
  );
}

/** Fills the form with what the device says its settings are. */
function PopulateButton({
  live,
  command,
  onValues,
}: {
  live: LiveDevice;
  command: Command;
  onValues: (texts: Texts) => void;
}) {
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
    if (execution.state !== 'SUCCESS')
      throw new Error(messageOf(payload) ?? 'The device did not tell its settings.');
    const found = Object.entries(declared).filter(([key]) => payload[key] !== undefined);
    onValues(Object.fromEntries(found.map(([key, argument]) => [key, textOf(argument, payload[key])])));
  });
  if (source === undefined || live.device.connectivity?.status !== 'ONLINE') return null;
  return (
    <>
      <Button onClick={() => void action.start()} disabled={action.isBusy}>
        {action.isBusy ? 'Asking the device…' : 'Fill in the present values'}
      </Button>
      <ErrorNotice error={action.error} />
    </>
  );
}

function messageOf(payload: Record<string, unknown>): string | undefined {
  return typeof payload['message'] === 'string' ? payload['message'] : undefined;
}

/** The execution as it goes on, until its end. */
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
      if (!found || !ENDED.has(found.state)) timer = setTimeout(() => void look(), POLL_INTERVAL_MS);
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
      {execution ? <ExecutionDetails execution={execution} live={live} /> : <p>The command is on its way…</p>}
    </div>
  );
}
