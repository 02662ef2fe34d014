/** MQTT devices of other makers: accounts for them, and what announced itself. */
import { useState } from 'preact/hooks';
import { call, callFor, path } from '../api.ts';
import type { AnnouncedDevice, MadeMqttGuest } from '../shapes.ts';
import { Button, Card, ErrorNotice, Form, InputField, Notice, useAction, useStored } from '../ui.tsx';
import { say } from '../words/later.ts';

const REFRESH_MS = 5_000;

/** Devices that announced themselves and are none yet; nothing while there are none. */
export function AnnouncedDevices({ onAccepted }: { onAccepted: (slug: string) => void }) {
  const { answer, error, again } = useStored<AnnouncedDevice[]>(
    () => callFor('announced_devices', 'GET', '/v3/announced_devices?state=NEW&limit=200'),
    [],
    REFRESH_MS,
  );
  if (error === undefined && (answer ?? []).length === 0) return null;
  return (
    <Card title={say.adding.announcedDevices} data-test="announced">
      <ErrorNotice error={error} />
      <ul class="ways">
        {(answer ?? []).map((device) => (
          <Announced key={device.id} device={device} onAccepted={onAccepted} onIgnored={again} />
        ))}
      </ul>
    </Card>
  );
}

function Announced({
  device,
  onAccepted,
  onIgnored,
}: {
  device: AnnouncedDevice;
  onAccepted: (slug: string) => void;
  onIgnored: () => void;
}) {
  const { id, name, manufacturer, model, attributes, commands, left_out: leftOut } = device;
  const accepting = useAction(async () => {
    const { slug } = await call<{ slug: string }>('POST', path`/v3/announced_devices/${id}/accept`, {});
    onAccepted(slug);
  });
  const ignoring = useAction(async () => {
    await call('POST', path`/v3/announced_devices/${id}/ignore`);
    onIgnored();
  });
  const names = [...attributes, ...commands].map(({ display_name: title }) => title);
  return (
    <li>
      <b>{name}</b>
      <small>{[manufacturer, model].filter((part) => part !== undefined).join(' ')}</small>
      <p class="hint">{names.join(', ')}</p>
      {leftOut.map((sentence) => (
        <p key={sentence} class="hint">
          {sentence}
        </p>
      ))}
      <ErrorNotice error={accepting.error ?? ignoring.error} />
      <div class="actions">
        <Button
          disabled={names.length === 0 || accepting.isBusy}
          onClick={() => void accepting.start()}
          aria-label={`${say.adding.accept}: ${name}`}
        >
          {say.adding.accept}
        </Button>
        <Button onClick={() => void ignoring.start()} aria-label={`${say.adding.setAside}: ${name}`}>
          {say.adding.setAside}
        </Button>
      </div>
    </li>
  );
}

/** The form for an account, and its password once it is made. */
export function MqttGuestCard() {
  const [name, setName] = useState('');
  const [username, setUsername] = useState('');
  const [topics, setTopics] = useState('');
  const [made, setMade] = useState<MadeMqttGuest | undefined>(undefined);
  const action = useAction(async () => {
    const asked = { name, username, topics: topics.split(/[\s,]+/).filter((topic) => topic !== '') };
    setMade(await call<MadeMqttGuest>('POST', '/v3/mqtt_guests', asked));
  });
  return (
    <Card title={say.adding.ofAnotherMaker}>
      <p class="hint">{say.adding.ofAnotherMakerHint}</p>
      {made && (
        <Notice kind="success">
          <p>{say.adding.keepItNow}</p>
          <p>
            {made.mqtt_host}:{made.mqtt_port} · {made.mqtt_guest.username} · <code>{made.password}</code>
          </p>
        </Notice>
      )}
      <Form action={action} submit={say.adding.makeAccount} isKept>
        <InputField label={say.everywhere.name} isMarked value={name} onValue={setName} />
        <InputField label={say.adding.userNameOfDevice} isMarked value={username} onValue={setUsername} />
        <InputField
          label={say.adding.topicsOfDevice}
          hint={say.adding.topicsOfDeviceHint}
          isMarked
          value={topics}
          onValue={setTopics}
        />
      </Form>
    </Card>
  );
}
