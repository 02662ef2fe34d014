/** Targets of telemetry, and how far each of them is. */
import { callFor, path } from '../api.ts';
import { ageText, bytesText, momentText, numberText } from '../format.ts';
import { deviceIds } from '../live.ts';
import { namesOf } from '../parts/device-choice.tsx';
import { AddButton, ManagedRow, testAt, type Tried } from '../parts/managed-row.tsx';
import type { Target } from '../shapes.ts';
import { Awaited, Card, Empty, Rows, useStored } from '../ui.tsx';
import { TargetForm } from './target-form.tsx';
import { say } from '../words/later.ts';

const REFRESH_MS = 5_000;

const BADGES: Readonly<Record<Target['status']['state'], string>> = {
  DISABLED: '',
  STARTING: 'new',
  CURRENT: 'success',
  CATCHING_UP: 'in_progress',
  FAILING: 'error',
};

export function TargetsCard() {
  const { answer, error } = useStored(
    () => callFor<Target[]>('targets', 'GET', '/v3/targets'),
    [],
    REFRESH_MS,
  );
  return (
    <Card
      title={say.targets.title}
      actions={
        <AddButton
          text={say.targets.addTarget}
          title={say.targets.addTarget}
          form={(onDone) => <TargetForm onDone={onDone} />}
        />
      }
    >
      <Awaited answer={answer} error={error} />
      {answer?.length === 0 && <Empty title={say.targets.staysHere}>{say.targets.staysHereText}</Empty>}
      <Rows
        items={answer ?? []}
        keyOf={({ id }) => id}
        row={(target) => <TargetRow target={target} />}
        data-test="targets"
      />
    </Card>
  );
}

function TargetRow({ target }: { target: Target }) {
  void deviceIds.value;
  const address = path`/v3/targets/${target.id}`;
  const test = async (): Promise<Tried> => {
    const found = await testAt<{ accepted: boolean; reason?: string }>(address);
    return found.accepted
      ? { isGood: true, text: say.targets.tookTest }
      : {
          isGood: false,
          text: say.targets.tookTestNot(say.frame.said(found.reason ?? say.targets.noReason)),
        };
  };
  const { state } = target.status;
  return (
    <ManagedRow
      name={target.name}
      address={address}
      isEnabled={target.enabled}
      deleting={say.targets.targetDeleting}
      test={test}
      form={(onDone) => <TargetForm target={target} onDone={onDone} />}
    >
      {' '}
      <span class={`badge ${BADGES[state]}`}>{say.targets.state[state]}</span>
      <small>{placeOf(target)}</small>
      <Progress status={target.status} />
      <CommandsState commands={target.status.commands} />
    </ManagedRow>
  );
}

function placeOf({ influxdb, mqtt, folder, selection }: Target): string {
  const url = (influxdb ?? mqtt)?.url ?? folder?.path ?? '';
  const what = mqtt ? say.targets.formOver[mqtt.form] : '';
  const { devices, attributes } = selection;
  const parts = [
    `${what}${url}`,
    devices?.length ? namesOf(devices) : say.targets.allDevices,
    ...(attributes?.length ? [attributes.join(', ')] : []),
  ];
  return parts.join(' · ');
}

/** Its backlog in time and size, its speed, and what was lost or refused. */
function Progress({ status }: { status: Target['status'] }) {
  const { lag_s: lagS, lag_samples: waiting, lag_bytes: lagBytes, last_error: fault } = status;
  const sentences = [
    waiting === 0
      ? say.targets.nothingWaits
      : say.targets.behind(ageText(lagS), count(waiting), bytesText(lagBytes)),
    say.targets.speed(numberText(status.samples_per_second), bytesText(status.bytes_per_second)),
    say.targets.sent(count(status.sent_samples), bytesText(status.sent_bytes)),
  ];
  const missing = [
    ...(status.lost_samples > 0 ? [say.targets.lost(count(status.lost_samples))] : []),
    ...(status.refused_samples > 0 ? [say.targets.refusedSamples(count(status.refused_samples))] : []),
  ];
  return (
    <>
      <small class="numbers">{sentences.join(' · ')}</small>
      {missing.length > 0 && <small class="warn">{missing.join(' · ')}</small>}
      {fault && (
        <small class={status.state === 'FAILING' ? 'warn' : ''}>
          {momentText(fault.at)}: {say.frame.said(fault.message)}
        </small>
      )}
    </>
  );
}

/** Empty for a target that takes no commands. */
function CommandsState({ commands }: { commands: Target['status']['commands'] }) {
  if (!commands) return null;
  const { connected, executed, refused, last_error: fault } = commands;
  const refusals = refused > 0 ? say.targets.alsoRefused(numberText(refused, true)) : '';
  return (
    <small class={connected ? '' : 'warn'}>
      {connected
        ? say.targets.commandsCome(numberText(executed, true), refusals)
        : say.targets.commandsComeNot(fault ? say.frame.said(fault.message) : say.targets.notConnected)}
    </small>
  );
}

const count = (samples: number): string =>
  samples === 1 ? say.targets.oneValue : say.targets.valueCount(numberText(samples, true));
