/** Notification channels, and the deliveries of the last notifications. */
import { callFor, path } from '../api.ts';
import { momentText } from '../format.ts';
import { deviceIds } from '../live.ts';
import { namesOf } from '../parts/device-choice.tsx';
import { AddButton, ManagedRow, type Tried } from '../parts/managed-row.tsx';
import { Awaited, Card, Empty, Rows, useStored } from '../ui.tsx';
import { ChannelForm } from './channel-form.tsx';
import type { Channel, Delivery } from '../shapes.ts';
import { contentText, statusText } from './words.ts';
import { say } from '../words/index.ts';

const REFRESH_MS = 10_000;
const LOG_ITEMS = 30;

export function NotificationsPage() {
  const { answer: channels, error } = useStored(() =>
    callFor<Channel[]>('notification_channels', 'GET', '/v3/notification_channels'),
  );
  return (
    <>
      <Card
        title={say.alerts.whoIsTold}
        actions={
          <AddButton
            text={say.alerts.addChannel}
            title={say.alerts.addChannel}
            form={(onDone) => <ChannelForm onDone={onDone} />}
          />
        }
      >
        <Awaited answer={channels} error={error} />
        {channels?.length === 0 && (
          <Empty title={say.alerts.nobodyIsTold}>{say.alerts.nobodyIsToldText}</Empty>
        )}
        <Rows
          items={channels ?? []}
          keyOf={({ id }) => id}
          row={(channel) => <ChannelRow channel={channel} />}
          data-test="channels"
        />
      </Card>
      {channels && channels.length > 0 && <DeliveryLog channels={channels} />}
    </>
  );
}

function targetOf({ email, webhook, ntfy }: Channel): string {
  if (email) return say.alerts.mailTo(email.to.join(', '));
  if (webhook) return say.alerts.webhookAt(webhook.origin);
  return ntfy ? say.alerts.ntfyAt(ntfy.topic, new URL(ntfy.server).host) : '';
}

function scopeOf({ device_ids: ids, minimum_severity: severity }: Channel): string {
  const least = say.alerts.least[severity];
  return ids.length === 0 ? least : say.alerts.leastOf(least, namesOf(ids));
}

function ChannelRow({ channel }: { channel: Channel }) {
  void deviceIds.value;
  const { id, name, enabled } = channel;
  const address = path`/v3/notification_channels/${id}`;
  const test = async (): Promise<Tried> => {
    const { error } = await callFor<Delivery>('notification_delivery', 'POST', `${address}/test`);
    return error === null
      ? { isGood: true, text: say.alerts.testTaken }
      : { isGood: false, text: say.alerts.testFailed(say.frame.said(error)) };
  };
  return (
    <ManagedRow
      name={name}
      address={address}
      isEnabled={enabled}
      deleting={say.alerts.channelDeleting}
      test={test}
      form={(onDone) => <ChannelForm channel={channel} onDone={onDone} />}
    >
      <small>
        {targetOf(channel)}: {scopeOf(channel)}
      </small>
    </ManagedRow>
  );
}

function DeliveryLog({ channels }: { channels: readonly Channel[] }) {
  const { answer, error } = useStored(
    () =>
      callFor<Delivery[]>('notification_deliveries', 'GET', `/v3/notification_deliveries?limit=${LOG_ITEMS}`),
    [],
    REFRESH_MS,
  );
  const nameOf = (id: string): string => channels.find((channel) => channel.id === id)?.name ?? '–';
  return (
    <Card title={say.alerts.whatWasSent}>
      <Awaited answer={answer} error={error} />
      {answer?.length === 0 && <p class="hint">{say.alerts.nothingYet}</p>}
      <ul class="rows" data-test="deliveries">
        {answer?.map((delivery) => (
          <li key={delivery.id}>
            <span>
              {say.alerts.sentTo(<b>{contentText(delivery)}</b>, nameOf(delivery.channel_id))}
              <small>
                {momentText(delivery.created_at)}
                {delivery.error !== null && ` · ${say.frame.said(delivery.error)}`}
              </small>
            </span>
            <span class={`badge ${BADGE[delivery.status]}`}>{statusText(delivery)}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

const BADGE = { SENDING: 'new', RETRYING: 'in_progress', DELIVERED: 'success', FAILED: 'error' } as const;
