export { DISCOVERY_PREFIX, DISCOVERY_STATUS_TOPIC, guestOfKey, keyOfGuest } from './model.ts';
export { mqttGuestRoutes } from './routes.ts';
export { type GuestMessage, MqttGuests } from './service.ts';
