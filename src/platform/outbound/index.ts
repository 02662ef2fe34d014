export { DeliveryError } from './delivery-error.ts';
export { post } from './post.ts';
export { sendMail } from './mail.ts';
