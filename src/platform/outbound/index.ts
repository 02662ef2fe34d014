export { DeliveryError, post, sendMail } from './delivery.ts';
