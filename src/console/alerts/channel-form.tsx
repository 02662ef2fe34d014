/** The form of a notification channel, new or existing. */
import { DeviceChoice } from '../parts/device-choice.tsx';
import { Check, type Choice, Form, InputField, SecretField, SelectField } from '../ui.tsx';
import { useItemForm, type useTyped } from '../ui/typed.ts';
import { bodyOf, typedOf, type Typed } from './channel-typed.ts';
import type { Channel } from '../shapes.ts';
import { say } from '../words/index.ts';

const KINDS: readonly Choice<Typed['kind']>[] = [
  { value: 'EMAIL', text: say.alerts.byMail },
  { value: 'NTFY', text: say.alerts.byPhone },
  { value: 'WEBHOOK', text: say.alerts.byWebhook },
];
const SEVERITIES: readonly Choice<Typed['severity']>[] = [
  { value: 'info', text: say.devices.everything },
  { value: 'warning', text: say.alerts.warningsAndErrors },
  { value: 'error', text: say.devices.errorsOnly },
];
const ENCRYPTIONS: readonly Choice<Typed['encryption']>[] = [
  { value: 'STARTTLS', text: say.alerts.starttls },
  { value: 'TLS', text: say.alerts.tls },
  { value: 'NONE', text: say.alerts.noEncryption },
];
const FORMS: readonly Choice<Typed['form']>[] = [
  { value: 'JSON', text: say.alerts.formJson },
  { value: 'SLACK', text: 'Slack' },
  { value: 'DISCORD', text: 'Discord' },
  { value: 'MATTERMOST', text: 'Mattermost' },
  { value: 'GOOGLE_CHAT', text: 'Google Chat' },
  { value: 'TEAMS', text: 'Microsoft Teams' },
];
const USUAL_PORT: Record<Typed['encryption'], string> = { STARTTLS: '587', TLS: '465', NONE: '25' };

type Controls = ReturnType<typeof useTyped<Typed>>;

export function ChannelForm({ channel, onDone }: { channel?: Channel; onDone: () => void }) {
  const address = '/v3/notification_channels';
  const { controls, action } = useItemForm({ address, stored: channel, typedOf, bodyOf, onDone });
  const { typed, change, bound } = controls;
  return (
    <Form action={action} submit={channel ? say.everywhere.save : say.everywhere.add} onCancel={onDone}>
      {!channel && <SelectField label={say.everywhere.whatItIs} {...bound('kind')} choices={KINDS} />}
      <InputField
        label={say.everywhere.name}
        isMarked
        {...bound('name')}
        placeholder={say.alerts.exampleName}
      />
      {typed.kind === 'EMAIL' && <EmailFields controls={controls} channel={channel} />}
      {typed.kind === 'NTFY' && <NtfyFields controls={controls} channel={channel} />}
      {typed.kind === 'WEBHOOK' && <WebhookFields controls={controls} channel={channel} />}
      <SelectField
        label={say.alerts.tellOf}
        {...bound('severity')}
        name="minimum_severity"
        choices={SEVERITIES}
      />
      <Check value={typed.notifiesCleared} onValue={(notifiesCleared) => change({ notifiesCleared })}>
        {say.alerts.alsoCleared}
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
        label={say.alerts.to}
        hint={say.alerts.toHint}
        isMarked
        {...bound('to')}
        placeholder="anna@example.org"
      />
      <InputField label={say.alerts.sender} isMarked {...bound('from')} />
      <div class="pair">
        <InputField
          label={say.alerts.mailServer}
          isMarked
          {...bound('host')}
          placeholder="smtp.example.org"
        />
        <InputField label={say.alerts.port} isMarked type="number" {...bound('port')} min={1} max={65_535} />
      </div>
      <SelectField
        label={say.alerts.encryption}
        {...bound('encryption')}
        onValue={(encryption) => change({ encryption, port: USUAL_PORT[encryption] })}
        choices={ENCRYPTIONS}
      />
      <div class="pair">
        <InputField
          label={say.everywhere.userName}
          hint={say.alerts.withoutLogin}
          {...bound('username')}
          autocomplete="off"
        />
        <SecretField
          label={say.everywhere.password}
          isKept={channel?.email?.has_password}
          {...bound('secret')}
        />
      </div>
    </>
  );
}

function NtfyFields({ controls: { bound }, channel }: PartProps) {
  return (
    <>
      <InputField
        label={say.alerts.topic}
        hint={say.alerts.topicHint}
        isMarked
        {...bound('topic')}
        maxLength={64}
      />
      <InputField label={say.alerts.server} isMarked {...bound('server')} />
      <SecretField label={say.alerts.accessToken} isKept={channel?.ntfy?.has_token} {...bound('secret')} />
    </>
  );
}

function WebhookFields({ controls: { bound }, channel }: PartProps) {
  const kept = channel?.webhook;
  return (
    <>
      <InputField
        label={say.everywhere.address}
        hint={channel ? say.alerts.addressKept(kept?.origin ?? '') : say.alerts.addressHint}
        isMarked={!channel}
        {...bound('url')}
        placeholder="https://hooks.example.org/alerts"
        autocomplete="off"
      />
      <SelectField
        label={say.alerts.form}
        {...bound('form')}
        choices={kept ? FORMS : [{ value: '', text: say.alerts.formOfAddress }, ...FORMS]}
      />
      <SecretField label={say.alerts.signingKey} isKept={kept?.has_signing_secret} {...bound('secret')} />
    </>
  );
}
