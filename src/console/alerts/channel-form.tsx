/** A notification channel, a new one or another form of one. */
import { call, path } from '../api.ts';
import { DeviceChoice } from '../parts/device-choice.tsx';
import {
  Check,
  type Choice,
  Form,
  InputField,
  SecretField,
  SelectField,
  useAction,
  useTyped,
} from '../ui.tsx';
import { bodyOf, typedOf, type Typed } from './channel-typed.ts';
import type { Channel } from './shapes.ts';

const TYPES: readonly Choice<Typed['type']>[] = [
  { value: 'EMAIL', text: 'Mail (SMTP)' },
  { value: 'NTFY', text: 'Phone (ntfy)' },
  { value: 'WEBHOOK', text: 'Webhook' },
];
const SEVERITIES: readonly Choice<Typed['severity']>[] = [
  { value: 'info', text: 'Everything' },
  { value: 'warning', text: 'Warnings and errors' },
  { value: 'error', text: 'Errors only' },
];
const ENCRYPTIONS: readonly Choice<Typed['encryption']>[] = [
  { value: 'STARTTLS', text: 'STARTTLS (usually port 587)' },
  { value: 'TLS', text: 'TLS (usually port 465)' },
  { value: 'NONE', text: 'None: everybody on the way can read it' },
];
const USUAL_PORT: Record<Typed['encryption'], string> = { STARTTLS: '587', TLS: '465', NONE: '25' };

type Controls = ReturnType<typeof useTyped<Typed>>;

export function ChannelForm({ channel, onDone }: { channel?: Channel; onDone: () => void }) {
  const controls = useTyped(() => typedOf(channel));
  const { typed, change, bound } = controls;
  const action = useAction(async () => {
    const body = bodyOf(typed, channel);
    if (channel) await call('PATCH', path`/v3/notification_channels/${channel.id}`, body);
    else await call('POST', '/v3/notification_channels', body);
    onDone();
  });
  return (
    <Form action={action} submit={channel ? 'Save' : 'Add'}>
      {!channel && <SelectField label="How" {...bound('type')} choices={TYPES} />}
      <InputField label="Name" isMarked {...bound('name')} placeholder="Service team" />
      {typed.type === 'EMAIL' && <EmailFields controls={controls} channel={channel} />}
      {typed.type === 'NTFY' && <NtfyFields controls={controls} channel={channel} />}
      {typed.type === 'WEBHOOK' && <WebhookFields controls={controls} channel={channel} />}
      <SelectField label="Tell of" {...bound('severity')} name="minimum_severity" choices={SEVERITIES} />
      <Check value={typed.notifiesCleared} onValue={(notifiesCleared) => change({ notifiesCleared })}>
        Also tell what is over
      </Check>
      <DeviceChoice ids={typed.deviceIds} onIds={(deviceIds) => change({ deviceIds })} />
    </Form>
  );
}

interface PartProps {
  controls: Controls;
  channel: Channel | undefined;
}

function EmailFields({ controls: { bound, change }, channel }: PartProps) {
  return (
    <>
      <InputField
        label="To"
        hint="Several with commas between them."
        isMarked
        {...bound('to')}
        placeholder="anna@example.org"
      />
      <InputField label="From" isMarked {...bound('from')} />
      <div class="pair">
        <InputField label="Mail server" isMarked {...bound('host')} placeholder="smtp.example.org" />
        <InputField label="Port" isMarked type="number" {...bound('port')} min={1} max={65_535} />
      </div>
      <SelectField
        label="Encryption"
        {...bound('encryption')}
        onValue={(encryption) => change({ encryption, port: USUAL_PORT[encryption] })}
        choices={ENCRYPTIONS}
      />
      <div class="pair">
        <InputField
          label="User name"
          hint="Empty: without a login."
          {...bound('username')}
          autocomplete="off"
        />
        <SecretField label="Password" isKept={channel?.email?.has_password} {...bound('secret')} />
      </div>
    </>
  );
}

function NtfyFields({ controls: { bound }, channel }: PartProps) {
  return (
    <>
      <InputField
        label="Topic"
        hint="Subscribe to it in the ntfy app. Who knows it reads along."
        isMarked
        {...bound('topic')}
        maxLength={64}
      />
      <InputField label="Server" isMarked {...bound('server')} />
      <SecretField label="Access token" isKept={channel?.ntfy?.has_token} {...bound('secret')} />
    </>
  );
}

function WebhookFields({ controls: { bound }, channel }: PartProps) {
  const kept = channel?.webhook;
  return (
    <>
      <InputField
        label="Address"
        hint={
          channel ? `One at ${kept?.origin} is kept; empty: as it is.` : 'Is asked for by POST, with JSON.'
        }
        isMarked={!channel}
        {...bound('url')}
        placeholder="https://hooks.example.org/alerts"
        autocomplete="off"
      />
      <SecretField label="Key of the signature" isKept={kept?.has_signing_secret} {...bound('secret')} />
    </>
  );
}
