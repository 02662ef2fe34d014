/** Rows of notification channels, their pending changes and their deliveries. */
import { and, asc, desc, eq, inArray, isNull, lte, sql } from 'drizzle-orm';
import { hiddenParts, shownUrl } from '../../lib/shown-url.ts';
import type { SecretSealer } from '../../platform/files/index.ts';
import {
  countOf,
  type Database,
  given,
  placeholders,
  placeholdersBut,
  present,
  presentRow,
  removalOf,
  unlessNull,
  updateOf,
  upsert,
} from '../../platform/sqlite/index.ts';
import { alert } from '../alerts/index.ts';
import type { Channel, Secrets } from './model.ts';
import {
  type Delivery,
  notificationChannel,
  notificationDelivery,
  notificationPending,
  type Pending,
} from './tables.ts';

export type NotificationStore = ReturnType<typeof createNotificationStore>;

export function createNotificationStore({ orm }: Database, sealer: SecretSealer) {
  return {
    ...channelStatements(orm, sealer),
    ...pendingStatements(orm),
    ...deliveryStatements(orm),
    ...logStatements(orm),
  };
}

type Orm = Database['orm'];

function channelStatements(orm: Orm, sealer: SecretSealer) {
  const { id, createdAtMs } = notificationChannel;
  const all = orm.select().from(notificationChannel).orderBy(createdAtMs, id).prepare();
  const put = upsert({ orm }, notificationChannel, 'kind', 'createdAtMs', 'omittedCount');
  const remove = orm.delete(notificationChannel).where(given(id)).prepare();
  const omitted = orm
    .select({ omittedCount: notificationChannel.omittedCount })
    .from(notificationChannel)
    .where(given(id))
    .prepare();
  const setOmitted = updateOf(orm, notificationChannel, given(id), 'omittedCount');
  /** The secret parts of an ntfy server's address are sealed with the others. */
  const sealed = (channel: Channel) => {
    const { kind, settings, secrets } = channel;
    if (kind !== 'NTFY' || hiddenParts(settings.server).length === 0)
      return { ...channel, secrets: sealer.seal(secrets) };
    const { server } = settings;
    return {
      ...channel,
      settings: { ...settings, server: shownUrl(server) },
      secrets: sealer.seal({ ...secrets, server }),
    };
  };
  const putChannel = (channel: Channel): void => void put.run({ ...sealed(channel), omittedCount: 0 });
  return {
    // The check of rows has verified that the settings fit the kind.
    channels: (): Channel[] =>
      all.all().map((row) => {
        const { server, ...secrets } = sealer.open<Secrets & { server?: string }>(row.secrets) ?? {};
        const settings = server === undefined ? row.settings : { ...row.settings, server };
        const channel = { ...row, settings, secrets } as Channel;
        if (sealer.isClear(row.secrets)) putChannel(channel);
        return channel;
      }),
    /** Leaves the number of omitted changes as it is. */
    putChannel,
    omitted: (channelId: string): number => omitted.get({ id: channelId })?.omittedCount ?? 0,
    setOmitted: (channelId: string, count: number): void =>
      void setOmitted.run({ id: channelId, omittedCount: count }),
    removeChannel: (channelId: string): void => void remove.run({ id: channelId }),
  };
}

function pendingStatements(orm: Orm) {
  const { number, channelId, alertNumber, kind, deliveryNumber } = notificationPending;
  const ofChannel = given(channelId);
  const isFree = and(ofChannel, isNull(deliveryNumber));
  const isOfDelivery = eq(deliveryNumber, sql.placeholder('delivery'));
  const insert = orm
    .insert(notificationPending)
    .values({ ...placeholders(notificationPending, ['channelId', 'alertNumber', 'kind']) })
    .prepare();
  const countFree = countOf(orm, notificationPending, isFree);
  const takeBack = orm
    .delete(notificationPending)
    .where(and(isFree, given(alertNumber), eq(kind, 'CLEARED')))
    .prepare();
  const assign = orm
    .update(notificationPending)
    .set({ deliveryNumber: sql`${sql.placeholder('delivery')}` })
    .where(isFree)
    .prepare();
  const ofDelivery = orm
    .select()
    .from(notificationPending)
    .where(isOfDelivery)
    .orderBy(asc(number))
    .prepare();
  const removeOfDelivery = orm.delete(notificationPending).where(isOfDelivery).prepare();
  const isStanding = sql`EXISTS (SELECT 1 FROM ${alert} WHERE ${alert.number} = ${alertNumber}
    AND ${alert.clearedAtMs} IS NULL AND ${alert.acknowledgedAtMs} IS NULL)`;
  const releaseRaised = orm
    .update(notificationPending)
    .set({ deliveryNumber: null })
    .where(and(isOfDelivery, eq(kind, 'RAISED'), isStanding))
    .prepare();
  const least = orm
    .select({ number })
    .from(notificationPending)
    .where(isFree)
    .orderBy(isStanding, asc(number))
    .limit(sql.placeholder('count'));
  const removeLeast = removalOf(orm, number, sql`${least}`);
  const removeOfChannel = orm.delete(notificationPending).where(ofChannel).prepare();
  return {
    addPending: (pending: Omit<Pending, 'number' | 'deliveryNumber'>): void =>
      void insert.run({ ...pending }),
    /** Pending changes that are part of no delivery yet. */
    countPending: (of: string): number => countFree({ channelId: of }),
    /** Removes a pending clearing of an alert that came back; true when it was not sent yet. */
    takeBackCleared: (of: string, alert: number): boolean =>
      takeBack.run({ channelId: of, alertNumber: alert }).changes > 0,
    /** Makes all pending changes part of the delivery. */
    assignPending: (of: string, delivery: number): void => void assign.run({ channelId: of, delivery }),
    pendingOf: (delivery: number): Pending[] => ofDelivery.all({ delivery }).map(present),
    removePendingOf: (delivery: number): void => void removeOfDelivery.run({ delivery }),
    /** Makes raised, unacknowledged alerts of a failed delivery pending again. */
    releaseRaised: (delivery: number): void => void releaseRaised.run({ delivery }),
    /** Removes pending changes: those of cleared or acknowledged alerts first, then the oldest. */
    removeLeast: (of: string, count: number): void => void removeLeast.run({ channelId: of, count }),
    removePendingOfChannel: (of: string): void => void removeOfChannel.run({ channelId: of }),
  };
}

function deliveryStatements(orm: Orm) {
  const { number, channelId, status } = notificationDelivery;
  const unfinished = inArray(status, ['SENDING', 'RETRYING']);
  const ofChannel = given(channelId);
  const insert = orm
    .insert(notificationDelivery)
    .values(placeholdersBut(notificationDelivery, 'number'))
    .returning({ number })
    .prepare();
  const isIt = given(number);
  const update = updateOf(orm, notificationDelivery, isIt, 'status', 'attempts', 'attemptedAtMs', 'error');
  const amount = (kind: 'RAISED' | 'CLEARED') =>
    sql`(SELECT count(*) FROM notification_pending WHERE delivery_number = ${number} AND kind = ${kind})`;
  const countUp = orm
    .update(notificationDelivery)
    .set({ raisedCount: amount('RAISED'), clearedCount: amount('CLEARED') })
    .where(isIt)
    .returning()
    .prepare();
  const ofKind = given(notificationDelivery.kind);
  const open = orm
    .select()
    .from(notificationDelivery)
    .where(and(ofChannel, unfinished, ofKind))
    .orderBy(asc(number))
    .limit(1)
    .prepare();
  const newestLeft = sql`(SELECT kept.number FROM notification_delivery AS kept
    WHERE kept.channel_id = ${sql.placeholder('channelId')} AND kept.kind = 'RULE' AND kept.status IN ('SENDING', 'RETRYING')
    ORDER BY kept.number DESC LIMIT 1 OFFSET ${sql.placeholder('keep')})`;
  const giveUp = orm
    .update(notificationDelivery)
    .set({ status: 'FAILED', error: sql`${sql.placeholder('error')}` })
    .where(and(ofChannel, unfinished, eq(notificationDelivery.kind, 'RULE'), lte(number, newestLeft)))
    .prepare();
  return {
    addDelivery: (delivery: Omit<Delivery, 'number'>): number =>
      insert.get({ attemptedAtMs: null, error: null, message: null, ...delivery })?.number ?? 0,
    /** Stores the number of its changes, and returns the delivery. */
    countDelivery: (of: number): Delivery | undefined => presentRow(countUp.all({ number: of })[0]),
    updateDelivery: (delivery: Delivery): void =>
      void update.run({
        number: delivery.number,
        status: delivery.status,
        attempts: delivery.attempts,
        attemptedAtMs: delivery.attemptedAtMs ?? null,
        error: delivery.error ?? null,
      }),
    /** The first unfinished delivery of a channel. */
    openDelivery: (of: string, kind: 'ALERTS' | 'RULE'): Delivery | undefined =>
      presentRow(open.get({ channelId: of, kind })),
    /** Gives up messages of rules that were not sent yet, but the newest; returns how many. */
    giveUpMessages: (of: string, keep: number, error: string): number =>
      giveUp.run({ channelId: of, keep, error }).changes,
  };
}

function logStatements(orm: Orm) {
  const { id, number, channelId, status } = notificationDelivery;
  const wanted = unlessNull('channelId', given(channelId));
  const page = orm
    .select()
    .from(notificationDelivery)
    .where(wanted)
    .orderBy(desc(number))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
    .prepare();
  const counted = countOf(orm, notificationDelivery, wanted);
  const byId = orm.select().from(notificationDelivery).where(given(id)).prepare();
  const oldestKept = sql`(SELECT kept.number FROM notification_delivery AS kept
    WHERE kept.channel_id = ${sql.placeholder('channelId')} ORDER BY kept.number DESC LIMIT 1 OFFSET ${sql.placeholder('keep')})`;
  const removeExcess = orm
    .delete(notificationDelivery)
    .where(and(given(channelId), sql`${status} NOT IN ('SENDING', 'RETRYING')`, lte(number, oldestKept)))
    .prepare();
  return {
    /** Newest first; null: of all channels. */
    deliveries: (of: string | null, limit: number, offset: number): Delivery[] =>
      page.all({ channelId: of, limit, offset }).map(present),
    delivery: (of: string): Delivery | undefined => presentRow(byId.get({ id: of })),
    countDeliveries: (of: string | null): number => counted({ channelId: of }),
    /** All but the newest `keep` of a channel, unless they are under way. */
    removeDeliveries: (of: string, keep: number): void => void removeExcess.run({ channelId: of, keep }),
  };
}
