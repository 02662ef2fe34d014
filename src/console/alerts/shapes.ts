/** Shapes of the answers of these pages. */
export type { AlertMessage, AlertOnWire as Alert } from '../../capabilities/alerts/schema.ts';
export type {
  NotificationChannelOnWire as Channel,
  NotificationDeliveryOnWire as Delivery,
} from '../../capabilities/notifications/schema.ts';
