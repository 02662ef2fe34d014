/** Where telemetry is carried to, and how far each target got. */
import { call, changeCount, path } from '../api.ts';
import { ageText, bytesText, momentText, numberText } from '../format.ts';
import { deviceIds } from '../live.ts';
import { namesOf } from '../parts/device-choice.tsx';
import { AddButton, ManagedRow, type Tried } from '../parts/managed-row.tsx';
import type { Target } from '../shapes.ts';
import { Card, Empty, ErrorNotice, Loading, useAnswer, useRefresh } from '../ui.tsx';
import { TargetForm } from './target-form.tsx';

const REFRESH_MS = 5_000;

const STATES: Readonly<Record<Target['status']['state'], readonly [text: string, badge: string]>> = {
  DISABLED: ['off', ''],
  STARTING: ['starting', 'new'],
  CURRENT: ['up to date', 'success'],
  CATCHING_UP: ['catching up', 'in_progress'],
  FAILING: ['does not take it', 'error'],
};

export function TargetsCard() {
  const { answer, error, again } = useAnswer(
    () => call<{ targets: Target[] }>('GET', '/v3/targets'),
    [changeCount.value],
  );
  useRefresh(again, REFRESH_MS);
  return (
    <Card
      title="Where telemetry is sent"
      actions={
        <AddButton text="Add target" title="Add target" form={(onDone) => <TargetForm onDone={onDone} />} />
      }
    >
      <ErrorNotice error={error} />
      {!answer && error === undefined && <Loading />}
      {answer?.targets.length === 0 && (
        <Empty title="It stays here">
          Databases such as InfluxDB and VictoriaMetrics, MQTT brokers, Home Assistant and files on a stick
          can have it too. What they miss while they are away is sent when they are back.
        </Empty>
      )}
      <ul class="rows" data-test="targets">
        {answer?.targets.map((target) => (
          <TargetRow key={target.id} target={target} />
        ))}
      </ul>
    </Card>
  );
}

function TargetRow({ target }: { target: Target }) {
  void deviceIds.value;
  const address = path`/v3/targets/${target.id}`;
  const test = async (): Promise<Tried> => {
    const { test: found } = await call<{ test: { accepted: boolean; reason?: string } }>(
      'POST',
      `${address}/test`,
      undefined,
      'reads',
    );
    return found.accepted
      ? { isGood: true, text: 'It took the sample of a test.' }
      : { isGood: false, text: `It did not take the sample of a test: ${found.reason ?? 'no reason given'}` };
  };
  const [state, badge] = STATES[target.status.state];
  return (
    <ManagedRow
      name={target.name}
      address={address}
      isEnabled={target.enabled}
      deleting="What was not sent yet is sent to nobody."
      test={test}
      form={(onDone) => <TargetForm target={target} onDone={onDone} />}
    >
      {' '}
      <span class={`badge ${badge}`}>{state}</span>
      <small>{placeOf(target)}</small>
      <Progress status={target.status} />
      <CommandsState commands={target.status.commands} />
    </ManagedRow>
  );
}

const FORMS = { PLAIN: '', HOME_ASSISTANT: 'Home Assistant over ', SPARKPLUG_B: 'Sparkplug B over ' };

function placeOf({ influxdb, mqtt, folder, selection }: Target): string {
  const url = (influxdb ?? mqtt)?.url ?? folder?.path ?? '';
  const what = mqtt ? FORMS[mqtt.form] : '';
  const { devices, attributes } = selection;
  const parts = [
    `${what}${url}`,
    devices === null ? 'all devices' : namesOf(devices),
    ...(attributes === null ? [] : [attributes.join(', ')]),
  ];
  return parts.join(' · ');
}

/** How far it is behind in time and size, how fast it gets on, and what was lost on the way. */
function Progress({ status }: { status: Target['status'] }) {
  const { lag_s: lagS, lag_samples: waiting, lag_bytes: lagBytes, last_error: fault } = status;
  const sentences = [
    waiting === 0
      ? 'nothing waits'
      : `${ageText(lagS)} behind: ${count(waiting)}, ${bytesText(lagBytes)} wait`,
    `${numberText(status.samples_per_second)} values/s, ${bytesText(status.bytes_per_second)}/s`,
    `${count(status.sent_samples)}, ${bytesText(status.sent_bytes)} sent`,
  ];
  const missing = [
    ...(status.lost_samples > 0 ? [`${count(status.lost_samples)} were gone before they were sent`] : []),
    ...(status.refused_samples > 0 ? [`${count(status.refused_samples)} were refused`] : []),
  ];
  return (
    <>
      <small class="numbers">{sentences.join(' · ')}</small>
      {missing.length > 0 && <small class="warn">{missing.join(' · ')}</small>}
      {fault && (
        <small class={status.state === 'FAILING' ? 'warn' : ''}>
          {momentText(fault.at)}: {fault.message}
        </small>
      )}
    </>
  );
}

/** Nothing where none come from there. */
function CommandsState({ commands }: { commands: Target['status']['commands'] }) {
  if (!commands) return null;
  const { connected, executed, refused, last_error: fault } = commands;
  const refusals = refused > 0 ? ` · ${numberText(refused, true)} refused` : '';
  return (
    <small class={connected ? '' : 'warn'}>
      {connected
        ? `commands may come from there: ${numberText(executed, true)} since the start${refusals}`
        : `no commands come from there: ${fault?.message ?? 'not connected yet'}`}
    </small>
  );
}

const count = (samples: number): string =>
  samples === 1 ? '1 value' : `${numberText(samples, true)} values`;
